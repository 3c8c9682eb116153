package safedial

import "net/netip"

// block is a part of the address space that is not the public Internet.
type block struct {
	prefix netip.Prefix
	why    string
}

// blocks are the special-purpose registries of IANA, and what is deprecated or never routed.
var blocks = list(map[string]string{
	"0.0.0.0/8":         "this host",
	"10.0.0.0/8":        "private",
	"100.64.0.0/10":     "carrier-grade NAT",
	"127.0.0.0/8":       "loopback",
	"169.254.0.0/16":    "link-local, where clouds keep metadata",
	"172.16.0.0/12":     "private",
	"192.0.0.0/24":      "for protocols",
	"192.0.2.0/24":      "for documentation",
	"192.31.196.0/24":   "AS112",
	"192.52.193.0/24":   "AMT",
	"192.88.99.0/24":    "6to4 relay",
	"192.168.0.0/16":    "private",
	"192.175.48.0/24":   "AS112",
	"198.18.0.0/15":     "for benchmarks",
	"198.51.100.0/24":   "for documentation",
	"203.0.113.0/24":    "for documentation",
	"224.0.0.0/4":       "multicast",
	"240.0.0.0/4":       "reserved",
	"::/128":            "unspecified",
	"::1/128":           "loopback",
	"64:ff9b:1::/48":    "translation inside a network",
	"100::/64":          "discard",
	"100:0:0:1::/64":    "dummy",
	"2001::/23":         "for protocols, Teredo among them",
	"2001:db8::/32":     "for documentation",
	"2002::/16":         "6to4",
	"2620:4f:8000::/48": "AS112",
	"3fff::/20":         "for documentation",
	"5f00::/16":         "segment routing",
	"fc00::/7":          "private",
	"fe80::/10":         "link-local",
	"fec0::/10":         "site-local",
	"ff00::/8":          "multicast",
})

func list(texts map[string]string) []block {
	var bs []block
	for text, why := range texts {
		bs = append(bs, block{netip.MustParsePrefix(text), why})
	}
	return bs
}

var (
	translated = netip.MustParsePrefix("64:ff9b::/96") // NAT64: the last four bytes are an IPv4 address
	compatible = netip.MustParsePrefix("::/96")        // IPv4-compatible, long deprecated
	global     = netip.MustParsePrefix("2000::/3")     // all of IPv6 that was given out
)

// special says why an address is not of the public Internet; empty: it is.
func special(ip netip.Addr) string {
	if !ip.IsValid() {
		return "no address"
	}
	for _, b := range blocks {
		if b.prefix.Contains(ip) {
			return b.why
		}
	}
	if ip.Is4() {
		return ""
	}
	if translated.Contains(ip) || compatible.Contains(ip) {
		b := ip.As16()
		if why := special(netip.AddrFrom4([4]byte(b[12:]))); why != "" {
			return "a translation of one that is " + why
		}
		if translated.Contains(ip) {
			return ""
		}
		return "deprecated"
	}
	if !global.Contains(ip) {
		return "not given out"
	}
	return ""
}
