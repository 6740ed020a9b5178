"""Types of arrays in signatures, such as `Float[np.ndarray, "T d"]`, for type checkers and for the tests.

They are those of jaxtyping where a program has imported it, as the type checker of the tests does. Elsewhere they stand
for any object, so that keyhole does not depend on it.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool as Bool
    from jaxtyping import Float as Float
    from jaxtyping import Float32 as Float32
    from jaxtyping import Int as Int
    from jaxtyping import Int8 as Int8
    from jaxtyping import Int32 as Int32
    from jaxtyping import Integer as Integer
    from jaxtyping import Real as Real
    from jaxtyping import Shaped as Shaped
    from jaxtyping import UInt8 as UInt8
    from jaxtyping import UInt32 as UInt32
    from jaxtyping import UInt64 as UInt64
else:

    class Shaped:
        """An array of any shape."""

        def __class_getitem__(cls, _: Any) -> type:
            """Stand for any object."""
            return object

    Bool = Float = Float32 = Int = Int8 = Int32 = Integer = Real = UInt8 = UInt32 = UInt64 = Shaped
