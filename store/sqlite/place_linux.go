package sqlite

import "syscall"

// networks are the file systems whose locks do not reach across the hosts that share them, or not surely.
var networks = map[uint32]string{
	0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB2", 0x5346414f: "AFS", 0x01021997: "9P",
	0x00c36400: "Ceph", 0x0bd00bd0: "Lustre", 0x47504653: "GPFS",
}

// networkFS names the network file system that a folder lies on; empty: it lies on none that is known.
func networkFS(dir string) string {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return ""
	}
	return networks[uint32(st.Type)]
}
