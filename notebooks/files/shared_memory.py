"""What another process sees of a tensor and of an array. Chapter 23 starts it."""

import numpy as np
import torch
import torch.multiprocessing as mp


def write(tensor, array):
    tensor[0] = array[0] = 100


def start(*args):
    process = mp.get_context("spawn").Process(target=write, args=args)
    process.start()
    process.join()


if __name__ == "__main__":
    tensor, array = torch.zeros(2), np.zeros(2)
    print("shared before:", tensor.is_shared())
    start(tensor, array)
    print("shared after:", tensor.is_shared(), "tensor:", tensor.tolist(), "array:", array.tolist())
    try:
        start(torch.ones(1, requires_grad=True) * 2, array)
    except RuntimeError as error:
        print("a result that requires grad:", str(error).partition(",")[0])
