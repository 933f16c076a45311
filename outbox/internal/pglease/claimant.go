package pglease

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/leat-go/leat/internal/ids"
)

// Claimant claims leases repeatedly. Each attempt has its own name, so that a claimant can distinguish its
// former attempts from those of other claimants. It is safe for concurrent use.
type Claimant struct {
	name string

	mu       sync.Mutex
	attempts int64   // number of attempts so far
	running  []int64 // those that have not ended
}

// NewClaimant returns a claimant with a name that no other has.
func NewClaimant() (*Claimant, error) {
	id, err := ids.New()
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &Claimant{name: host + "/" + strconv.Itoa(os.Getpid()) + "/" + id}, nil
}

// Name is the claimant's own, readable for operators. Those of its attempts begin with it.
func (c *Claimant) Name() string {
	return c.name
}

// NameOf returns the name of the claimant that made the attempt owner.
func NameOf(owner string) string {
	if i := strings.LastIndexByte(owner, '/'); i >= 0 {
		return owner[:i]
	}
	return owner
}

// Attempt is one attempt at a lease, and the use of the lease if it succeeds.
type Attempt struct {
	// Owner is its name.
	Owner string
	// Former are the earlier attempts of the same claimant.
	Former Former

	prefix string
	no     int64
}

// marked is the owner's name with a 0 before its number. It reads as the same number.
func (a Attempt) marked() string { return a.prefix + "0" + strconv.FormatInt(a.no, 10) }

// isMarked reports whether owner is a marked name.
func isMarked(owner string) bool {
	return strings.HasPrefix(strings.TrimPrefix(owner, NameOf(owner)), "/0")
}

// Former are attempts of one claimant: those whose name is Prefix and a number up to
// Last. The zero value is none.
type Former struct {
	Prefix string
	Last   int64
	// Running are the numbers of those that have not ended. Their leases are in use.
	Running []int64
}

// NamePrefix is Prefix as a parameter: nil if it is empty, so that it matches no name.
func (f Former) NamePrefix() *string {
	if f.Prefix == "" {
		return nil
	}
	return &f.Prefix
}

// Begin begins an attempt. End ends it.
func (c *Claimant) Begin() Attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	prefix := c.name + "/"
	a := Attempt{
		prefix: prefix, no: c.attempts + 1,
		Former: Former{Prefix: prefix, Last: c.attempts, Running: append([]int64{}, c.running...)},
	}
	a.Owner = prefix + strconv.FormatInt(a.no, 10)
	c.attempts++
	c.running = append(c.running, a.no)
	return a
}

// End notes that an attempt is over, its lease released or not: later ones may take it.
// Ending it again changes nothing.
func (c *Claimant) End(a Attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = slices.DeleteFunc(c.running, func(no int64) bool { return no == a.no })
}
