"""Batches for packed networks, their losses, and evaluation on a split."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .data import Split

# Images of one evaluation step: large enough to be quick, small enough to stay in cache.
EVALUATION_BATCH = 256


def gather(split: Split, batch: Tensor) -> tuple[Tensor, Tensor]:
    """Every member's own batch, side by side.

    Parameters
    ----------
    split : Split
    batch : Tensor of int64, shape (members, batch)
        Indices into the split.

    Returns
    -------
    images : Tensor, shape (batch, members*channels, height, width)
    labels : Tensor, shape (members, batch)
    """
    images = split.images[batch].transpose(0, 1).flatten(1, 2)
    return images.contiguous(memory_format=torch.channels_last), split.labels[batch]


def losses(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy of every member, (members,), of logits (members, batch, classes)."""
    each = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    return each.view(labels.shape).mean(1)


@torch.no_grad()
def evaluate(network: nn.Module, split: Split, members: int) -> tuple[Tensor, Tensor]:
    """Loss and accuracy of every member on a split, with the running BatchNorm statistics."""
    network.eval()
    loss, correct = torch.zeros(members), torch.zeros(members)
    for batch in torch.arange(len(split)).split(EVALUATION_BATCH):
        images, labels = gather(split, batch.expand(members, -1))
        logits = network(images)
        loss += losses(logits, labels) * len(batch)
        correct += (logits.argmax(2) == labels).sum(1)
    network.train()
    return loss / len(split), correct / len(split)
