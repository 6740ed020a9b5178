"""Claims about how many samples suffice, and how many are necessary: stated before anything is measured, and where each is measured."""

from keyhole.apps.ledger.finding import Claim, Experiment, NamedFunction
from keyhole.papers import CATONI_2007, EDELMAN_2022, LOTFI_2023, MCALLESTER_1999, TRAUGER_2023, ZHANG_2002

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        Claim(
            id="floor",
            title="log₂ C(T, s) samples are necessary, and search succeeds at a size of the same growth",
            statement=(
                "From m one-bit labels no learner names a random 3-set with probability above 2^m/C(T,3). For a balanced 3-way AND the "
                "hidden set is the only consistent one at least half of the time once the expected number of rivals is ½."
            ),
            formula=r"m\ge\log_2\binom{T}{s},\qquad \sum_{j<3}\binom{3}{j}\binom{T-3}{3-j}\left(2p^{6-j}\right)^m\le\tfrac{1}{2}",
            kind="inequality",
            source="keyhole, with proof (the information floor; first moment); optimality of log T is also claimed by Edelman et al. (2022)",
            prediction=(
                "At the first-moment size (28 samples at T = 100, 34 at T = 400) the target is alone with probability at least ½; "
                "picking a random consistent AND never beats 2^m/C(T,3)."
            ),
            could_fail="An upper end of the interval below ½, or a success rate whose lower end exceeds 2^m/C(T,3).",
            papers=(EDELMAN_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.generalization.floor"),
    ),
    Experiment(
        Claim(
            id="theorem-t",
            title="A head whose scores ignore the symbol is no richer than 2T + 2 one-position functions",
            statement=(
                "With spread R = 0 a head is a convex combination of functions of one position each, so its Rademacher complexity is "
                "that of 2T + 2 signs, whatever its logits and positions. Checked on drawn bits and signs, and on random heads."
            ),
            formula=r"R_m(G)=\mathbb{E}\max_{t,\,e}\frac{1}{m}\sum_i\xi_i\,e(b_{i,t})\;\le\;\sqrt{\frac{2\ln(2T+2)}{m}}",
            kind="inequality",
            source="keyhole, with proof (Theorem T at R = 0); the measured values are new draws",
            prediction=(
                "On every draw no random head correlates more with the signs than the best function of one position. The mean of the latter is "
                "below the bound at every (T, m), and within a factor 2 of it."
            ),
            could_fail="A head above the best function, a lower end of the interval above the bound, or an upper end below half of it.",
        ),
        NamedFunction("keyhole.apps.ledger.generalization.theorem_t"),
    ),
    Experiment(
        Claim(
            id="theorem-l",
            title="A head is a mixture of decision lists, so strong scores cost e^{R/2}, and nothing for independent symbols",
            statement=(
                "With a fixed query the output of a head is the expected value of the first present pair of position and symbol to ring, "
                "each pair having an exponential clock. Its Rademacher complexity is therefore that of short decision lists, up to the "
                "inputs that no short list decides. Measured on tiny classes under four laws of inputs, one of them copies of one bit."
            ),
            formula=r"R_m(G)\le\min_D\sqrt{\frac{2D\ln 2N}{m}}+\min\left(\eta_D,\ \rho^D+\sqrt{\frac{2\rho^D D\ln N}{m}}+\frac{D\ln N}{3m}\right)",
            kind="inequality",
            source="keyhole, with proof (Theorem L); the measured values are new draws",
            prediction=(
                "The measured complexity is below the bound in every case, exact suprema over all lists included, and so is the floor for "
                "one-hot inputs up to R = 20."
            ),
            could_fail="One upper end of an interval, or one floor, above its bound.",
        ),
        NamedFunction("keyhole.apps.ledger.generalization.theorem_l"),
    ),
    Experiment(
        Claim(
            id="bound-growth",
            title="Theorem T grows like log T end to end; the cover route faster, up to log³T, and is vacuous in a laboratory",
            statement=(
                "Samples that bring the two-sided gap of an exact 3-way AND to 0.2. Covers pay for the logit scale, which is "
                "itself log T; the tabulated head does not. Occam's bound for the finite class is smaller than both."
            ),
            formula=r"m_{\mathrm{cover}}=O(\log^3 T),\qquad m_{\mathrm{T}}=O(\log T)",
            kind="identity",
            source="keyhole, with proof (Theorems S, P, T); the log T law of the gap: Edelman et al. (2022)",
            prediction=(
                "For Theorem T, gap·√m less the confidence term √(ln(2/δ)/2) is proportional to √ln(2T+2), to the rounding of m; the cover "
                "route has a local exponent of log(2T+2) between 2 and 3. At T = 100 covers are vacuous at 10⁶ samples."
            ),
            could_fail="A law that varies by more than rounding, an exponent outside its range, or a cover bound that is not vacuous at 10⁶ samples.",
            papers=(EDELMAN_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.generalization.bound_growth"),
    ),
    Experiment(
        Claim(
            id="bound-rivals",
            title="The cover bound here is never above the same calculus with the recalled constants",
            statement=(
                "With softmax constant 1 instead of 2 and the Frobenius instead of the (2,1) norm of the score matrix, every term "
                "of the cover bound is at most as large. Other published bounds stand beside it on one profile."
            ),
            formula=r"C(c_N=1,\|M\|_F)\;\le\;C(c_N=2,\|M\|_{2,1})",
            kind="inequality",
            source="keyhole, with proof (term by term); the constants compared with follow Edelman et al. (2022), from memory",
            prediction="The ratio of the two capacities never exceeds 1 on random norms.",
            could_fail="One profile whose ratio exceeds 1.",
            papers=(EDELMAN_2022, ZHANG_2002, TRAUGER_2023, LOTFI_2023, MCALLESTER_1999, CATONI_2007),
        ),
        NamedFunction("keyhole.apps.ledger.generalization.bound_rivals"),
    ),
    Experiment(
        Claim(
            id="bound-shape",
            title="Hardly growing with the dimension, √log T at fixed norms, exponential in depth and in the spread of scores",
            statement=(
                "At fixed norms the capacity does not move when the embedding dimension grows, beyond the log of a width; Theorem T "
                "is exactly √log(2T+2); each further layer multiplies the capacity; content-dependent scores cost up to e^R."
            ),
            formula=r"R_m\le 2P_\infty\,\Phi(R)\sqrt{2\ln(2T+2)/m},\qquad C_L\propto\prod_{\ell}\mathrm{Lip}_\ell^2",
            kind="identity",
            source="keyhole, with proof (Theorems T and D); independence of d up to logarithms: Edelman et al. (2022)",
            prediction=(
                "Capacity ratio at d = 10⁶ over d = 8 below 2 (a logarithm); R_m/√ln(2T+2) constant to rounding; capacity per layer "
                "growing by at least the squared Lipschitz constant 9; Φ(0) = 1 and Φ(R) e^−R below 3."
            ),
            could_fail="Any of the four numbers outside its range.",
            papers=(EDELMAN_2022,),
        ),
        NamedFunction("keyhole.apps.ledger.generalization.bound_shape"),
    ),
)
