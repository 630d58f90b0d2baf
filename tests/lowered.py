"""The programs of a preset, lowered on this host for a device that is not there."""

import datetime
import functools
import os
import re
from unittest import mock

import jax
import jax.numpy as jnp

from jaxgo.system import devices
from jaxgo.training import presets, trainer
from jaxgo.training.presets import preset

TARGETS = {"cuda": "gpu", "tpu": "tpu", "cpu": "cpu"}  # what XLA lowers for, and what JAX calls such a device
DAY = "JAXGO_TEST_DAY"  # of the year, by which a sample is drawn; set it to have that of another day
# the processes of pytest draw alike, also at midnight: those that are started by the first one have its day
os.environ.setdefault(DAY, str(datetime.datetime.now(datetime.UTC).timetuple().tm_yday))
EXCHANGES = ("all_reduce", "all_gather", "all_to_all", "reduce_scatter", "collective_permute", "collective_broadcast")


def sample(count: int) -> list[tuple[str, str]]:
    """So many of all presets and accelerators, others every day, until each had its turn."""
    every = [(name, target) for name in sorted(presets.names()) for target in ("cuda", "tpu")]
    first = int(os.environ[DAY]) * count
    return [every[(first + number) % len(every)] for number in range(count)]


def exchanges(text: str) -> set[str]:
    """The kinds of exchanges between devices in a program."""
    return {kind for kind in EXCHANGES if kind in text}


def reaches_the_host(text: str) -> bool:
    return "callback" in text or "xla_ffi_python" in text


def wide_numbers(text: str) -> list[str]:
    """Arrays of 64-bit floating point."""
    return re.findall(r"tensor<[^>]*f64>", text)


def programs(name: str, target: str, host: str = "cpu") -> dict[str, str]:
    """The texts of `play` and `learn`, as a process makes them whose own devices are of that kind."""
    with (
        mock.patch.object(devices, "platform", return_value=TARGETS[target]),
        mock.patch.object(jax, "default_backend", return_value=host),
    ):
        run = trainer.Trainer(preset(name).config, devices.make_mesh())
        state = jax.eval_shape(run.begin)
        _, batches = jax.eval_shape(run.replay.draw, state.replay)
        arguments = {
            "_play": (state.player, state.selfplay, state.window, state.key, state.iteration, None),
            "_learn": (state.learner, batches, state.key, state.iteration, jax.ShapeDtypeStruct((), jnp.float32)),
        }
        # not the jitted functions: equal trainers share their traces, whatever device each was meant for
        return {
            program: jax.jit(functools.partial(getattr(trainer, program).__wrapped__, run))
            .trace(*given)
            .lower(lowering_platforms=(target,))
            .as_text()
            for program, given in arguments.items()
        }
