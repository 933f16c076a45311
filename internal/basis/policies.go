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

// Policy is what a relay does with records that it cannot deliver, as relays write it down beside their group.
type Policy struct {
	Topics   string `json:"topics"`
	Action   string `json:"action"`
	Attempts int    `json:"attempts"`
}

// RelayPolicies are the policies of one relay, the first that matches a topic first, and until when they count: by the
// database's clock, in microseconds.
type RelayPolicies struct {
	Policies []Policy `json:"policies"`
	Until    int64    `json:"until"`
}

// Policies are those of the relays of a group, by a name of each relay.
type Policies map[string]RelayPolicies

// ParsePolicies reads a note. One that it does not understand is taken for an empty one, and written anew by its relays.
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

// Keep returns p after a relay has said at now that it lives for ttl. With a ttl of 0 it is gone.
//
// What has run out is dropped, unless that of the relay itself has run out as well: it was to renew it long before, so that the
// clock was set ahead, or the relay was unable to. The others then have the time to say that they live. No time is kept that
// lies further ahead than ttl: the clock was set back.
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

// Alive returns those of p that count at now, to a relay: all of them if its own have run out.
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

// LeastLosing returns the policy that counts for a topic: of all relays the one that loses least, and of those that lose as much
// the one with the most attempts.
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

// loss orders actions: what is tried again, what waits for an operator, what is set aside for good, and what is gone. An action
// that is not known is one of a later release. Nothing is lost by it.
func (p Policy) loss() int {
	return max(0, slices.Index([]string{"block", "park", "dead_letter", "skip"}, p.Action))
}

// Texts returns for operators what there is of policies, each once. There is one text if all relays are configured alike.
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
