package httpsink

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
)

// errAddress is wrapped by the error of a record whose endpoint lies in a network that may
// not be connected to: private, local or reserved, and not in Config.AllowNetworks.
var errAddress = errors.New("leat: address is not allowed")

// reservedNetworks are those that netip has no method for, and networks of global addresses
// without public hosts.
//
//nolint:gochecknoglobals // a table
var reservedNetworks = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this host
	netip.MustParsePrefix("100.64.0.0/10"),   // between a carrier and its customers; metadata of some clouds
	netip.MustParsePrefix("192.0.0.0/24"),    // assignments of protocols
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation, as the next two
	netip.MustParsePrefix("198.51.100.0/24"), //
	netip.MustParsePrefix("203.0.113.0/24"),  //
	netip.MustParsePrefix("192.88.99.0/24"),  // relays of 6to4
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, broadcast
	netip.MustParsePrefix("2001::/23"),       // assignments of protocols, Teredo
	netip.MustParsePrefix("2001:db8::/32"),   // documentation, as the next one
	netip.MustParsePrefix("3fff::/20"),       //
	netip.MustParsePrefix("2002::/16"),       // 6to4, which has any address of IPv4 within
}

// globalIPv6 is everything that is routed publicly, and wellKnownNAT64 leads to IPv4.
//
//nolint:gochecknoglobals // constants that Go cannot express as such
var (
	globalIPv6     = netip.MustParsePrefix("2000::/3")
	wellKnownNAT64 = netip.MustParsePrefix("64:ff9b::/96")
)

// refuse returns an error that wraps errAddress if addr may not be connected to.
func (c Config) refuse(addr netip.Addr) error {
	plain := addr.WithZone("").Unmap()
	if wellKnownNAT64.Contains(plain) {
		bytes := plain.As16()
		plain = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	within := func(networks []netip.Prefix) bool {
		return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(plain) })
	}
	switch {
	case within(c.AllowNetworks):
		return nil
	case !plain.IsGlobalUnicast(), plain.IsPrivate(), plain.Is6() && !globalIPv6.Contains(plain), within(reservedNetworks):
		return fmt.Errorf("%w: %s", errAddress, addr)
	}
	return nil
}

// control looks at each address just before a connection to it is made. So a name that resolves
// to a different address after it was checked gains nothing.
func (c Config) control(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%w: %w", errAddress, err)
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return fmt.Errorf("%w: %w", errAddress, err)
	}
	return c.refuse(addr)
}
