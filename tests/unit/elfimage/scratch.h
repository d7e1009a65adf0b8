/* scratch: a folder that a test makes its images in and that goes with everything in it. */
#ifndef SCRATCH_H
#define SCRATCH_H

/* cmocka setup and teardown; *state is the folder's path. */
int scratch_setup(void **state);
int scratch_teardown(void **state);

#endif
