/* The part of DiskSim's disk model that Sledsim provides: the size of a device. */
#ifndef _DM_DM_H
#define _DM_DM_H

struct dm_layout_if;
struct dm_mech_if;

struct dm_disk_if {
    int dm_cyls;     /* Cylinders and surfaces; 0 for devices without them. */
    int dm_surfaces;
    int dm_sectors;              /* Blocks of 512 bytes. */
    struct dm_layout_if *layout; /* Null, as mech: DiskSim's models are not available. */
    struct dm_mech_if *mech;
};

#endif
