package dashboard

import (
	"fmt"
	"log/slog"
)

// View is a look of somebody at the payload and the headers of a message.
type View struct {
	// Actor is who looks, Mode how they have signed in, Address where the request came from.
	Actor, Mode, Address string
	// Outbox or Inbox is the store's name, Topic and ID are the message's.
	Outbox, Inbox, Topic, ID string
	// Download is set if all of the payload is sent, as a file.
	Download bool
}

// viewed tells of a look before anything is shown. An error refuses it.
func (c *call) viewed(v View) error {
	v.Actor, v.Mode, v.Address = c.who.Actor, c.who.Mode, c.r.RemoteAddr
	c.d.cfg.Logger.InfoContext(c.ctx(), "payload was viewed", slog.String("actor", v.Actor), slog.String("address", v.Address),
		slog.String("outbox", v.Outbox), slog.String("inbox", v.Inbox), slog.String("message_id", v.ID), slog.Bool("download", v.Download))
	if c.d.cfg.OnView == nil {
		return nil
	}
	if err := c.d.cfg.OnView(c.ctx(), v); err != nil {
		return fmt.Errorf("OnView refused a look at message %.200q: %w", v.ID, err)
	}
	return nil
}
