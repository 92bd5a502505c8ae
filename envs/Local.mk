# What runs inside environments; found at run time as $(pkgdatadir)/envs/...
nobase_dist_pkgdata_DATA += \
	envs/python/inventory.py \
	envs/python/probe.py
nobase_dist_pkgdata_DATA += envs/python/compile.py
nobase_dist_pkgdata_DATA += envs/r/inventory.R envs/r/load.R envs/r/probe.R envs/r/profile.R
