package basis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/topics"
)

// Policy is what a relay does with records that it cannot deliver, as relays store it next to their group.
type Policy struct {
	Topics   string `json:"topics"`
	Action   string `json:"action"`
	Attempts int    `json:"attempts"`
}

// RelayPolicies are the policies of one relay and the time until which they count, in microseconds of the database's
// clock. The first policy that matches a topic applies.
type RelayPolicies struct {
	Policies []Policy `json:"policies"`
	Until    int64    `json:"until"`
}

// Policies are the policies of a group's relays, by the name of the relay.
type Policies map[string]RelayPolicies

// ParsePolicies reads a note. One that it does not understand counts as empty; its relays write it again.
func ParsePolicies(note string) Policies {
	var p Policies
	if json.Unmarshal([]byte(note), &p) != nil {
		return nil
	}
	return p
}

// Note is p as it is stored.
func (p Policies) Note() string {
	if len(p) == 0 {
		return ""
	}
	raw, _ := json.Marshal(p) // texts and numbers, sorted by relay
	return string(raw)
}

// Keep returns p after a relay has reported at now that it lives for another ttl. A ttl of 0 removes the relay.
//
// Expired entries are dropped, unless the entry of the relay itself has expired as well. It should have been renewed
// long before, so either the clock was set ahead or the relay was unable to renew. The other relays then get the time
// to report that they live. No expiry is kept that lies further ahead than ttl: the clock was set back.
func (p Policies) Keep(relay string, own []Policy, now time.Time, ttl time.Duration) Policies {
	all := make(Policies)
	for name, other := range p.Alive(relay, now) {
		if until := now.Add(ttl).UnixMicro(); ttl > 0 && (other.Until > until || other.Until <= now.UnixMicro()) {
			other.Until = until
		}
		all[name] = other
	}
	delete(all, relay)
	if ttl > 0 {
		all[relay] = RelayPolicies{own, now.Add(ttl).UnixMicro()}
	}
	return all
}

// Alive returns those of p that a relay counts at now: all of them if its own have expired.
func (p Policies) Alive(relay string, now time.Time) Policies {
	own, known := p[relay]
	all := make(Policies)
	for name, other := range p {
		if other.Until > now.UnixMicro() || known && own.Until <= now.UnixMicro() {
			all[name] = other
		}
	}
	return all
}

// LeastLosing returns the policy that applies to a topic: of all relays' policies the one that loses least, and among
// equals the one with the most attempts.
func (p Policies) LeastLosing(topic string) (least Policy, known bool) {
	for _, relay := range p {
		at := slices.IndexFunc(relay.Policies, func(o Policy) bool { return topics.Match(o.Topics, topic) })
		if at < 0 {
			continue
		}
		if other := relay.Policies[at]; !known || other.losesLess(least) {
			least, known = other, true
		}
	}
	return least, known
}

// losesLess reports whether a record is likelier to be kept by p than by other.
func (p Policy) losesLess(other Policy) bool {
	return cmp.Or(cmp.Compare(p.loss(), other.loss()), cmp.Compare(other.Attempts, p.Attempts)) < 0
}

// loss orders actions: retry, wait for an operator, set aside for good, discard. An unknown action belongs to a later
// release; it is taken to lose nothing.
func (p Policy) loss() int {
	return max(0, slices.Index([]string{"block", "park", "dead_letter", "skip"}, p.Action))
}

// Texts returns the policies for operators, each distinct text once. There is one text if all relays are configured
// alike.
func (p Policies) Texts() (texts []string) {
	for _, relay := range p {
		texts = append(texts, PoliciesText(relay.Policies))
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// PoliciesText is the policies of one relay, for operators.
func PoliciesText(all []Policy) string {
	parts := make([]string, len(all))
	for i, p := range all {
		parts[i] = fmt.Sprintf("%s: %s", p.Topics, p.Action)
		if p.Action != "block" {
			parts[i] += fmt.Sprintf(" after %d", p.Attempts)
		}
	}
	return strings.Join(parts, ", ")
}
