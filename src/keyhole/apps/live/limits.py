"""Limits on what a browser may ask for at once. The command line has wider limits."""

FORMULA = 400  # letters
SPARSITY = 10  # positions of a function
CONTEXT = 4096  # T of a compiled layer
SAMPLES = 10**12  # m of a bound
TOKENS = 128  # of a latent context
TRAINING = {"context": 800, "samples": 20_000, "contexts": 6, "budget": 60}
TEXT = 2_000  # letters of a sentence
BODY = 64 * 1024  # bytes of a request
IMAGE = 4 * 2**20  # bytes of an image that is dropped in
PIXELS = 2**24  # of that image
UPLOAD = IMAGE * 4 // 3 + 1024  # bytes of a request that holds an image: four letters for three bytes
LENGTHS = {"count": 60, "longest": 512}  # of words of which a claim is verified
CLAIM = 200  # letters
JOB_SECONDS = 3600.0  # after which a job is interrupted; what it has finished is kept
JOB_MEMORY = 8 * 2**30  # bytes of data of each of its processes, where the system can limit a process from outside
AT_ONCE = 2  # questions computed side by side
