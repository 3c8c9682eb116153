// Package safedial keeps outgoing connections away from addresses that a request of somebody else must not reach: loopback,
// private networks, link-local with the metadata services of clouds, carrier-grade NAT, multicast, documentation, and all
// forms in which such an address can be wrapped into an IPv6 one. The address is looked at when it is dialled, after the name was
// resolved: a name that resolves to something else a moment later, or a redirect, gains nothing.
//
// What a proxy dials is not dialled here: see Guard.Resolve.
package safedial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ErrRefused says that a host, a port or an address may not be called.
var ErrRefused = errors.New("refused by the egress guard")

// Guard says what may be called. The zero Guard allows every public address on the ports 80 and 443.
type Guard struct {
	// Nets are allowed whatever else is said of them: a private network of one's own.
	Nets []netip.Prefix
	// Hosts, if there are any, are the only ones: a name, or ".example.com" for all names below it.
	Hosts []string
	// Ports are the only ones. Default 80 and 443.
	Ports []int
}

// Host looks at what can be told before a name is resolved: the list of hosts, the port, and an address given as such. Odd spellings of
// an address, such as 0x7f.1 or 2130706433, are left to the resolver and to Address.
func (g *Guard) Host(host, port string) error {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if len(g.Hosts) > 0 && !slices.ContainsFunc(g.Hosts, func(h string) bool { return matches(strings.ToLower(h), name) }) {
		return fmt.Errorf("%w: %s is not one of the hosts that may be called", ErrRefused, host)
	}
	if err := g.port(port); err != nil {
		return err
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return g.Address(netip.AddrFrom4([4]byte{127, 0, 0, 1})) // by definition, whatever a resolver says
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		return g.Address(ip)
	}
	return nil
}

func matches(pattern, name string) bool {
	return pattern == name || strings.HasPrefix(pattern, ".") && strings.HasSuffix(name, pattern)
}

func (g *Guard) port(port string) error {
	n, err := strconv.Atoi(port)
	if err != nil {
		return fmt.Errorf("%w: port %.10q is no number", ErrRefused, port)
	}
	ports := g.Ports
	if len(ports) == 0 {
		ports = []int{80, 443}
	}
	if !slices.Contains(ports, n) {
		return fmt.Errorf("%w: port %d is not one of those that may be called", ErrRefused, n)
	}
	return nil
}

// Address looks at an address.
func (g *Guard) Address(ip netip.Addr) error {
	bare := ip.WithZone("").Unmap()
	for _, n := range g.Nets {
		if n.Contains(bare) {
			return nil
		}
	}
	if why := special(bare); why != "" {
		return fmt.Errorf("%w: %s is %s", ErrRefused, ip, why)
	}
	return nil
}

// Control is for net.Dialer.Control: it sees each address right before it is connected to.
func (g *Guard) Control(network, address string, _ syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return fmt.Errorf("%w: network %s", ErrRefused, network)
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %.60q is no address", ErrRefused, address)
	}
	if err := g.port(strconv.Itoa(int(to.Port()))); err != nil {
		return err
	}
	return g.Address(to.Addr())
}

// Resolve resolves a name and refuses it if one of its addresses is refused. It is what can be done before a submit, and for a
// host that a proxy will dial: by then the name may resolve to something else, so the proxy must have rules of its own. A
// name that does not resolve is the error of the resolver, and is not ErrRefused.
func (g *Guard) Resolve(ctx context.Context, r *net.Resolver, host string) error {
	if ip, err := netip.ParseAddr(host); err == nil {
		return g.Address(ip)
	}
	list, err := r.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return err
	}
	for _, ip := range list {
		if err := g.Address(ip); err != nil {
			return err
		}
	}
	return nil
}
