# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: Warp's compiler gives PTX, as in job.py."""
import warp

warp.config.cuda_output = "ptx"
