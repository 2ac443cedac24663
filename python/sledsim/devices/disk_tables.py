"""Tables of the zones and seek times of a disk drive."""

from typing import TYPE_CHECKING

import numpy as np

from sledsim.show.tables import Table, number

if TYPE_CHECKING:
    from sledsim.devices.disk import DiskDrive

__all__ = ["seek_table", "zone_table"]

#: Evenly spaced distances of a table.
TABLE_LINES = 11
#: Additional short distances of a table.
SHORT = (0, 1, 2, 5, 10, 20, 50, 100)


def seek_table(drive: "DiskDrive") -> Table:
    """Return a table of seek times by distance.

    Parameters
    ----------
    drive
        The drive.
    """
    longest = drive.cylinders - 1
    spread = np.linspace(0, longest, TABLE_LINES).round().astype(int).tolist()
    distances = sorted({*spread, *(each for each in SHORT if each <= longest)})
    reads, writes = drive.seek_ms(distances), drive.seek_ms(distances, read=False)
    rows = [
        [number(distance), number(read), number(write)]
        for distance, read, write in zip(distances, reads.tolist(), writes.tolist(), strict=True)
    ]
    curve = drive.parameters["seek"]["curve"]
    mean = f"mean {number(drive.mean_seek_ms)} ms over all pairs of cylinders"
    title = f"Seek times of {drive.label}, {curve} curve: {mean}"
    return Table(["distance (cylinders)", "read (ms)", "write (ms)"], rows, title=title)


def zone_table(drive: "DiskDrive") -> Table:
    """Return a table of the zones.

    Parameters
    ----------
    drive
        The drive.
    """
    zones = drive.zones()
    columns = zip(*(column.tolist() for column in zones.values()), strict=True)
    rows = [[str(i), *(number(cell) for cell in cells)] for i, cells in enumerate(columns)]
    headers = ["zone", "cylinder", "to", "sectors", "from LBN", "blocks", "media (MB/s)", "streaming (MB/s)"]
    title = f"Zones of {drive.label}: sectors per track, rates at {drive.parameters['rotation_rpm']:,g} rpm"
    return Table(headers, rows, title=title)
