"""The older name of `torch.hub.load_state_dict_from_url`. Source: https://pytorch.org/docs/stable/model_zoo.html"""

from minitorch.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
