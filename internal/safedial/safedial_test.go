package safedial_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/outlast-go/outlast/internal/safedial"
)

func TestAddressesThatAreNotPublicAreRefused(t *testing.T) {
	t.Parallel()
	var g safedial.Guard
	for _, text := range []string{
		"127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.127.255.255",
		"192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "255.255.255.255", "192.88.99.1",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::8.8.8.8",
		"64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8", "2002:7f00:1::", "2002:808:808::1", "2001::1", "2001:db8::1",
		"fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%lo", "fec0::1", "ff02::1", "100::1", "4000::1", "3fff::1",
	} {
		if err := g.Address(netip.MustParseAddr(text)); !errors.Is(err, safedial.ErrRefused) {
			t.Errorf("Address(%s) = %v, want ErrRefused", text, err)
		}
	}
	for _, text := range []string{"8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2606:4700:4700::1111", "2a00:1450::1"} {
		if err := g.Address(netip.MustParseAddr(text)); err != nil {
			t.Errorf("Address(%s) = %v, want it to pass", text, err)
		}
	}
}

func TestHostsPortsAndNetsCanBeListed(t *testing.T) {
	t.Parallel()
	g := safedial.Guard{
		Hosts: []string{"api.example.com", ".Partner.example"}, Ports: []int{443, 8443},
		Nets: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")},
	}
	for _, c := range []struct {
		host, port string
		ok         bool
	}{
		{"api.example.com", "443", true},
		{"API.example.com.", "8443", true},
		{"a.partner.example", "443", true},
		{"partner.example", "443", false},
		{"api.example.com", "80", false},
		{"api.example.com", "22", false},
		{"api.example.com", "", false},
		{"evilapi.example.com", "443", false},
		{"api.example.com.evil.test", "443", false},
		{"10.1.0.1", "443", false}, // its net is allowed, and yet it is not one of the hosts
	} {
		if err := g.Host(c.host, c.port); (err == nil) != c.ok || err != nil && !errors.Is(err, safedial.ErrRefused) {
			t.Errorf("Host(%s, %s) = %v, want allowed: %v", c.host, c.port, err, c.ok)
		}
	}
	for text, ok := range map[string]bool{"10.1.2.3": true, "::ffff:10.1.2.3": true, "10.2.0.1": false} {
		if err := g.Address(netip.MustParseAddr(text)); (err == nil) != ok {
			t.Errorf("Address(%s) = %v, want allowed: %v", text, err, ok)
		}
	}
}

func TestTheZeroGuardAllowsTwoPorts(t *testing.T) {
	t.Parallel()
	var g safedial.Guard
	for _, name := range []string{"localhost", "LocalHost.", "a.localhost"} {
		if err := g.Host(name, "80"); !errors.Is(err, safedial.ErrRefused) {
			t.Errorf("Host(%s) = %v, want ErrRefused", name, err)
		}
	}
	for port, ok := range map[string]bool{"80": true, "443": true, "22": false, "6379": false, "8080": false} {
		if err := g.Host("example.com", port); (err == nil) != ok {
			t.Errorf("Host(example.com, %s) = %v, want allowed: %v", port, err, ok)
		}
	}
}

func TestADialIsRefusedBeforeItReachesAnybody(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	g := safedial.Guard{Ports: []int{l.Addr().(*net.TCPAddr).Port}}
	d := net.Dialer{Control: g.Control}
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(trim(host), port))
		if !errors.Is(err, safedial.ErrRefused) {
			t.Errorf("dial %s = %v, %v; want ErrRefused", host, conn, err)
		}
	}
	if err := g.Control("udp", "8.8.8.8:53", nil); !errors.Is(err, safedial.ErrRefused) {
		t.Errorf("Control of udp = %v, want ErrRefused", err)
	}
	if err := g.Control("tcp", "somewhere", nil); !errors.Is(err, safedial.ErrRefused) {
		t.Errorf("Control of no address = %v, want ErrRefused", err)
	}
	g.Nets = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	conn, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatalf("dial into an allowed net = %v", err)
	}
	conn.Close()
}

func trim(host string) string {
	if host[0] == '[' {
		return host[1 : len(host)-1]
	}
	return host
}

func TestResolveTellsARefusedNameFromOneThatIsNotThere(t *testing.T) {
	t.Parallel()
	var g safedial.Guard
	if err := g.Resolve(t.Context(), net.DefaultResolver, "localhost"); !errors.Is(err, safedial.ErrRefused) {
		t.Errorf("Resolve(localhost) = %v, want ErrRefused", err)
	}
	if err := g.Resolve(t.Context(), net.DefaultResolver, "::1"); !errors.Is(err, safedial.ErrRefused) {
		t.Errorf("Resolve(::1) = %v, want ErrRefused", err)
	}
	nowhere := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no server") }}
	if err := g.Resolve(t.Context(), nowhere, "no.such.test"); err == nil || errors.Is(err, safedial.ErrRefused) {
		t.Errorf("Resolve of a name that is not there = %v, want the resolver's error", err)
	}
}
