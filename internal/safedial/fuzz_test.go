package safedial_test

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/internal/safedial"
)

// An address that the standard library calls private, loopback, link-local, multicast or unspecified never passes, however it is wrapped; and
// what is refused stays refused when it is written in another way.
func FuzzAddress(f *testing.F) {
	for _, a := range []string{"127.0.0.1", "8.8.8.8", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:a00:1::", "fe80::1%lo", "2606:4700::1", "::7f00:1"} {
		ip := netip.MustParseAddr(a)
		b := ip.As16()
		f.Add(b[:], ip.Zone())
	}
	f.Fuzz(func(t *testing.T, raw []byte, zone string) {
		var g safedial.Guard
		if len(raw) < 16 {
			return
		}
		ip := netip.AddrFrom16([16]byte(raw[:16]))
		four := netip.AddrFrom4([4]byte(raw[12:16]))
		if zone != "" && len(zone) < 20 && !strings.ContainsAny(zone, "%]: ") {
			ip = ip.WithZone(zone)
		}
		for _, a := range []netip.Addr{ip, ip.Unmap(), four} {
			if closed(a) && g.Address(a) == nil {
				t.Errorf("Address(%v) passes", a)
			}
		}
		if g.Address(four) != nil {
			for _, prefix := range [][]byte{
				{10: 0xff, 11: 0xff},
				{0, 0x64, 0xff, 0x9b, 11: 0}, // NAT64
				{11: 0},                      // the old way to carry IPv4
			} {
				var wrapped [16]byte
				copy(wrapped[:], prefix)
				copy(wrapped[12:], raw[12:16])
				if g.Address(netip.AddrFrom16(wrapped)) == nil {
					t.Errorf("Address(%v) is refused, and %v passes", four, netip.AddrFrom16(wrapped))
				}
			}
		}
		if (g.Address(ip) == nil) != (g.Address(ip.WithZone("")) == nil) {
			t.Errorf("a zone changes what is said of %v", ip)
		}
		if err := g.Control("tcp", net.JoinHostPort(ip.String(), "443"), nil); (err == nil) != (g.Address(ip) == nil) {
			t.Errorf("Control(%v) = %v; Address says otherwise", ip, err)
		}
	})
}

func closed(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || a.IsInterfaceLocalMulticast()
}

// A name passes a list only if it is one of its names, or truly below one; a refused one is ErrRefused.
func FuzzHost(f *testing.F) {
	f.Add("api.example.com", "443")
	f.Add("api.example.com.evil.test", "443")
	f.Add("evilpartner.example", "8443")
	f.Add("0x7f.1", "080")
	f.Add("[::1]", "443\r\n")
	f.Fuzz(func(t *testing.T, host, port string) {
		g := safedial.Guard{Hosts: []string{"api.example.com", ".partner.example"}, Ports: []int{443}}
		err := g.Host(host, port)
		if err != nil {
			if !errors.Is(err, safedial.ErrRefused) {
				t.Errorf("Host(%q, %q) = %v; want ErrRefused", host, port, err)
			}
			return
		}
		name := strings.ToLower(strings.TrimSuffix(host, "."))
		if name != "api.example.com" && !strings.HasSuffix(name, ".partner.example") || strings.TrimLeft(port, "+0") != "443" {
			t.Errorf("Host(%q, %q) passes", host, port)
		}
	})
}
