"""Ways to reduce the gradients of DistributedDataParallel. Source: https://pytorch.org/docs/stable/ddp_comm_hooks.html"""
