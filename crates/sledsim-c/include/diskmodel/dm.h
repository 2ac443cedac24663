/* What programs take from DiskSim's model of a disk that Sledsim can tell: its size. */
#ifndef _DM_DM_H
#define _DM_DM_H

struct dm_layout_if;
struct dm_mech_if;

struct dm_disk_if {
    int dm_cyls;     /* Cylinders and surfaces; 0 of a device that has none. */
    int dm_surfaces;
    int dm_sectors;              /* Blocks of 512 bytes. */
    struct dm_layout_if *layout; /* Null, as the next one: what they lead to in DiskSim is not here. */
    struct dm_mech_if *mech;
};

#endif
