# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many runs: the digest of each, statistics over all of them, the causes of their failures, the frame of their pages.

In: the records of runs. Out: digests, figures, causes. Sweeps, load tests, the history and the canary build on these.

PRIVATE to the collection: no promise is made to other users of this package.
"""
