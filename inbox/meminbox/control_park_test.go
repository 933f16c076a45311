package meminbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/leat-go/leat/inbox/driver"
)

// brokenParkers lose what is parked, or what it stands for.
func brokenParkers() []negative {
	return []negative{
		{"ack before the parked row is committed", onStore(func(c claims) driver.Store { return ackBeforePark{c} }), map[string]string{
			"I3_ParkedWhenAcked":                     "parked are []",
			"I3_DeadLetterThatNoOutboxTakesIsParked": "parked are []",
			"I13_PoisonIsParkedAlone":                `"k/4"`,
		}},
		{"look, then store behind", onStore(func(c claims) driver.Store { return lookThenStore{c} }), map[string]string{
			"I1_FollowerMeetsTheEndOfARedrive": "committed effects are",
		}},
		{"parked without its id", onStore(func(c claims) driver.Store { return parkWithoutID{c} }), map[string]string{
			"I1_PermanentIsGivenUpAtOnce": "want duplicate",
		}},
		{"parked keys are compared as a collation does", onStore(func(c claims) driver.Store { return collatedKeys{c} }), map[string]string{
			"I1_KeysLikeAParkedOneRun": "outcome parked, error none; want committed",
		}},
		{"nothing waits behind a parked message", onStore(func(c claims) driver.Store { return overtakesParked{c} }), map[string]string{
			"I1_FollowersAreStoredBehindAParkedMessage": "outcome committed, error none; want parked",
		}},
		{"queues are those of parking policies", onStore(func(c claims) driver.Store { return forgetsQueues{c} }), map[string]string{
			"I1_AnotherPolicyStaysBehindAParkedKey":  "outcome committed, error none; want parked",
			"I13_AnotherPolicyStaysBehindAParkedKey": `"k/2"`,
		}},
		{"what has no id is not stored", onStore(func(c claims) driver.Store { return dropsNameless{c} }), map[string]string{
			"I11_MessageWithoutIDIsParked": "parked are []",
		}},
		{"each copy is another message", changingParked(func(req *driver.ParkRequest) { req.ID = rand.Text() }), map[string]string{
			"I11_MessageWithAPositionIsParkedOnce": `parked are ["" "" "" ""]`,
		}},
		{"texts are made UTF-8", changingParked(func(req *driver.ParkRequest) {
			req.Message.Payload = bytes.ToValidUTF8(req.Message.Payload, nil)
		}), map[string]string{
			"I1_ParkedMessageKeepsItsBytes": "redriven was",
		}},
		{"a payload is cut", changingParked(func(req *driver.ParkRequest) {
			req.Message.Payload = req.Message.Payload[:min(len(req.Message.Payload), 1<<20)]
		}), map[string]string{
			"N4_HostileMessagesCanBeParked": "redriven was another message",
		}},
	}
}

// forgetsQueues knows of no parked key, where it is not asked for one.
type forgetsQueues struct{ claims }

func (forgetsQueues) QueuedKeys(context.Context, int) ([]driver.Key, bool, error) {
	return nil, true, nil
}

// ackBeforePark reports what it has not stored as stored.
type ackBeforePark struct{ claims }

func (ackBeforePark) Park(context.Context, driver.ParkRequest) (driver.Status, error) {
	return driver.Claimed, nil
}

// lookThenStore lets a redrive come to its end between the look and the store.
type lookThenStore struct{ claims }

func (s lookThenStore) Park(ctx context.Context, req driver.ParkRequest) (driver.Status, error) {
	if !req.Behind {
		return s.claims.Park(ctx, req)
	}
	ended := func() bool {
		s.store.mu.Lock()
		defer s.store.mu.Unlock()
		return len(s.store.queue(s.consumer, req.Key)) == 0
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for !ended() && ctx.Err() == nil {
		timer := time.NewTimer(time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	req.Behind = false
	status, err := s.claims.Park(ctx, req)
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	for _, p := range s.store.queue(s.consumer, req.Key) {
		p.waits = true
	}
	return status, err
}

// parkWithoutID forgets that the message was settled.
type parkWithoutID struct{ claims }

func (s parkWithoutID) Park(ctx context.Context, req driver.ParkRequest) (driver.Status, error) {
	status, err := s.claims.Park(ctx, req)
	s.store.release(newRow(s.consumer, req.ID))
	return status, err
}

// collatedKeys has one queue for keys that differ in case or in trailing blanks only.
type collatedKeys struct{ claims }

func (s collatedKeys) Attempt(ctx context.Context, id string, key driver.Key) (driver.Attempt, error) {
	return s.claims.Attempt(ctx, id, collate(key))
}

func (s collatedKeys) Park(ctx context.Context, req driver.ParkRequest) (driver.Status, error) {
	req.Key = collate(req.Key)
	return s.claims.Park(ctx, req)
}

func collate(key driver.Key) driver.Key {
	key.Name = strings.ToLower(strings.TrimRight(key.Name, " "))
	return key
}

// overtakesParked does not see that a key is parked.
type overtakesParked struct{ claims }

func (s overtakesParked) Attempt(ctx context.Context, id string, _ driver.Key) (driver.Attempt, error) {
	return s.claims.Attempt(ctx, id, driver.Key{})
}

// dropsNameless has no place for what has no id.
type dropsNameless struct{ claims }

func (s dropsNameless) Park(ctx context.Context, req driver.ParkRequest) (driver.Status, error) {
	if req.MessageID == "" {
		return driver.Claimed, nil
	}
	return s.claims.Park(ctx, req)
}

// changesParked parks something else.
type changesParked struct {
	claims

	change func(req *driver.ParkRequest)
}

func (s changesParked) Park(ctx context.Context, req driver.ParkRequest) (driver.Status, error) {
	req.Message = req.Message.Copy()
	s.change(&req)
	return s.claims.Park(ctx, req)
}

func changingParked(change func(req *driver.ParkRequest)) func(c *control) {
	return onStore(func(c claims) driver.Store { return changesParked{c, change} })
}
