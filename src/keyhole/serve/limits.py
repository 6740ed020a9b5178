"""How much a browser may ask for at once. The command line has wider limits."""

FORMULA = 400  # letters
SPARSITY = 10  # positions of a function
CONTEXT = 4096  # T of a compiled layer
SAMPLES = 10**12  # m of a bound
TOKENS = 128  # of a latent context
TRAINING = {"context": 800, "samples": 20_000, "contexts": 6, "budget": 60}
TEXT = 2_000  # letters of a sentence
BODY = 64 * 1024  # bytes of a request
WAITING = 8  # jobs in the queue
STREAMS = 200  # pages that listen at once
AT_ONCE = 2  # questions computed side by side
QUEUED = 64  # questions that may wait for their turn
