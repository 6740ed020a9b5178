"""keyhole: what self-attention can represent, infer and learn, and how much data that takes.

`__init__.pyi` lists the public names: functions, the types of their results, and packages. Each is imported when it is
first used, so that `import keyhole` costs nothing; type checkers read the same list.
"""

from keyhole.on_demand import on_demand

__version__ = "0.1.0"

__getattr__, __dir__ = on_demand(__name__, __file__)
