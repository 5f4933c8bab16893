# %% [markdown]
# # Strides and slopes

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch(6)

# %% [markdown] given="mytorch.strides:offset mytorch.tensor:Tensor"
# An offset is a sum of steps:

# %%
import mytorch as again

print(mytorch.offset((2, 3), (1, 1)), again is mytorch, hasattr(mytorch, "Module"))
