package inbox

import (
	"fmt"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/outbox"
)

// wire finds the optional interfaces of the store, and refuses a Config that needs others.
func (p *Processor) wire() error {
	kind := fmt.Sprintf("%T", p.store)
	p.parker, _ = p.store.(driver.Parker)
	action := p.cfg.OnFailure.Action
	if action != Block {
		if p.attempts, _ = p.store.(driver.Attempter); p.attempts == nil {
			return outbox.ConfigError("OnFailure.Action", action, "needs a store that counts attempts, and "+kind+" does not")
		}
	}
	if action == Park && p.parker == nil {
		return outbox.ConfigError("OnFailure.Action", action, "needs a store that parks, and "+kind+" does not")
	}
	if p.cfg.Fingerprint == nil && !p.cfg.KeepReplies {
		return nil
	}
	if p.keeper, _ = p.store.(driver.Keeper); p.keeper == nil {
		return outbox.ConfigError("Fingerprint, KeepReplies", "set", "need a store that keeps notes, and "+kind+" does not")
	}
	return nil
}
