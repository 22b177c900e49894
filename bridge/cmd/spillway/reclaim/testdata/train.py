"""A user's training job: data-parallel over gloo, a checkpoint every few steps,
and it goes on from the newest it finds. Told that its machine may be taken, it
writes one after each step for a while. It knows nothing of Spillway."""
import signal
import time

told = 0.0


def on_notice(*_):
    global told
    told = time.monotonic()


# Before anything that takes long: until then the signal would end the job.
signal.signal(signal.SIGUSR1, on_notice)

import argparse
import glob
import hashlib
import json
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

p = argparse.ArgumentParser()
p.add_argument("--dir", required=True)
p.add_argument("--steps", type=int, required=True)
p.add_argument("--every", type=int, required=True, help="steps between two checkpoints")
p.add_argument("--pause", type=float, default=0.0, help="seconds a step takes at least")
args = p.parse_args()

rank, world = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
restart = int(os.environ.get("SLURM_RESTART_COUNT", 0))


def tell(**what):
    if rank == 0:
        with open(os.path.join(args.dir, "log.jsonl"), "a") as f:
            f.write(json.dumps({"at": time.time(), "restart": restart, **what}) + "\n")


def saved():
    return sorted(glob.glob(os.path.join(args.dir, "step-*.pt")))


def save(step):
    if rank != 0:
        return
    path = os.path.join(args.dir, f"step-{step:06d}.pt")
    with open(path + ".tmp", "wb") as f:
        torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, f)
        f.flush()
        os.fsync(f.fileno())
    os.replace(path + ".tmp", path)
    for old in saved()[:-3]:
        os.remove(old)
    tell(saved=step)


def batch(step):
    """The same data for a step and rank, however often it is computed."""
    g = torch.Generator().manual_seed(step * world + rank)
    x = torch.randn(16, 32, generator=g)
    return x, x.pow(2).sum(dim=1, keepdim=True).sin()


torch.set_num_threads(1)
torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
dist.init_process_group("gloo", rank=rank, world_size=world)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1)))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
step = 0
dist.barrier()  # all look at the same files
if saved():
    state = torch.load(saved()[-1])
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    step = state["step"]
tell(start=step, hosts=world)
while step < args.steps:
    began = time.monotonic()
    x, y = batch(step)
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    step += 1
    tell(step=step)
    if step % args.every == 0 or told and time.monotonic() - told < 60:
        save(step)
    time.sleep(max(0.0, args.pause - (time.monotonic() - began)))
dist.barrier()
weights = hashlib.sha256(b"".join(v.numpy().tobytes() for v in model.state_dict().values())).hexdigest()
tell(done=step, weights=weights)
sys.exit(0)
