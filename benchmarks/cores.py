"""Makes every core a device, as train.py does. Imported before pgx, which makes arrays and with them the backend."""

from jaxgo.system import devices
from jaxgo.training.sizes import MOST_CORES

devices.use_cores(MOST_CORES)
