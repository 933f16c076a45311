package inbox

import (
	"context"
	"errors"
	"log/slog"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/basis"
)

// sameIDs compares Config.IDFrom with the source of the remembered ids, before the first message.
// With another source no message would be recognised, and every redelivery would run.
func (p *Processor) sameIDs(ctx context.Context) error {
	if p.began.Load() {
		return nil
	}
	names, ok := p.store.(driver.IDNamer)
	if !ok {
		p.began.Store(true)
		return nil
	}
	name := p.cfg.IDFrom.Name
	noted, remembered, err := names.NameIDs(ctx, name)
	if err != nil {
		return errors.Join(ErrNotClaimed, err)
	}
	if noted != name && noted != "" && remembered != 0 {
		return basis.OtherIDs(noted, name, remembered)
	}
	if noted != name && noted != "" {
		p.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "the inbox remembers nothing yet, and ids come from another source from now on",
			slog.String("consumer", p.consumer), slog.String("former", noted), slog.String("source", name))
	}
	p.began.Store(true)
	return nil
}
