"""Joins the network of the host."""
call("setns", os.open("/proc/%d/ns/net" % C["victim"], os.O_RDONLY), 0x40000000)
