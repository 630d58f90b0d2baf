"""Makes every core a device, as train.py does. Imported before pgx, which makes arrays and with them the backend."""

from jaxgo.cli.train_job import MOST_CORES
from jaxgo.system import devices

devices.use_cores(MOST_CORES)
