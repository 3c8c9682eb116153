//go:build unix

package servers

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// attributes let a server run as the user, if there is one and this process may choose, and end with this process.
func attributes(t T, name string) *syscall.SysProcAttr {
	t.Helper()
	attr := dying()
	if uid, gid, ok := lookup(t, name); ok {
		attr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
	}
	return attr
}

// give makes the folder the user's.
func give(t T, name, dir string) {
	t.Helper()
	uid, gid, ok := lookup(t, name)
	if !ok {
		return
	}
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		t.Fatalf("%v", err)
	}
}

// lookup finds the user as whom a server is to run; ok is false if it runs as this process does.
func lookup(t T, name string) (uid, gid uint32, ok bool) {
	t.Helper()
	if name == "" || os.Geteuid() != 0 {
		return 0, 0, false
	}
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatalf("servers that refuse to run as root run as the user %s here: %v", name, err)
	}
	return number(t, u.Uid), number(t, u.Gid), true
}

func number(t T, text string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return uint32(n)
}
