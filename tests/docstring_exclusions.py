"""The examples of torch's docstrings that print something else with minitorch, and those that aren't run, and why."""

from __future__ import annotations


def by_name(reasons: dict[str, str]) -> dict[str, str]:
    return {name: reason for reason, names in reasons.items() for name in names.split()}


DIFFERENT = by_name(
    {
        "Sparse tensors that are no matrices in coordinates: out of scope.": """
            torch.narrow_copy torch.sparse_coo_tensor Tensor.to_sparse Tensor.to_sparse_csr
        """,
        "Devices other than the CPU are refused in other words.": """
            Generator.clone_state torch.set_default_device accelerator.synchronize accelerator.get_device_capability
            torch.Stream
        """,
        "Events are those of GPUs; the CPU has none.": "torch.Event",
        "Whether all last digits come back depends on the order of sums.": "fft.hfft2 fft.hfftn",
        "There is no complex type of float16.": "torch.set_default_dtype",
        "Equal elements keep their order, which torch.sort leaves open.": "torch.sort",
        "Typed storages are left out.": "torch.is_storage",
        "Shows the repr of a function, which is Python's here.": "torch.vmap",
        "Hands over Python's function `input`; the error names a kernel of torch.": "nn.MaxUnpool2d",
    }
)

LEFT_OUT = by_name(
    {
        "Solves a random system so ill-conditioned that the last bits decide, and with them the processor.": """
            linalg.solve linalg.solve_triangular linalg.lu_solve torch.cholesky_inverse
        """,
        "Prints memory before anything is written to it.": """
            Tensor.new_empty Tensor.new_empty_strided torch.empty torch.empty_strided nn.utils.skip_init
        """,
        "Prints a seed that the operating system drew.": "Generator.seed",
        "Large inputs, or dozens of processes: seconds each.": """
            nn.AvgPool3d nn.BatchNorm3d nn.CircularPad3d nn.Conv3d nn.ConvTranspose3d nn.InstanceNorm3d nn.LPPool3d
            nn.MaxPool3d nn.ReplicationPad3d nn.Transformer nn.TransformerDecoder nn.TransformerEncoder
            utils.data.IterableDataset
        """,
    }
)
