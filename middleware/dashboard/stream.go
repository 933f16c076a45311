package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	streamPattern = "GET " + apiPath + "stream"
	// streamFor is how long one stream lasts: browsers connect again, and sign in again.
	streamFor = 5 * time.Minute
	// streamPatience bounds a write to a client that does not read.
	streamPatience = 10 * time.Second
)

// stream sends the status every two seconds for some minutes, unless the client goes, does not
// read, or its request ends.
func (c *call) stream() error {
	if err := c.q.done(); err != nil {
		return err
	}
	turn := c.d.streams[c.who.class()]
	if !turn.try() {
		return errTooMany
	}
	defer turn.end()
	rc := http.NewResponseController(c.w)
	ctx, cancel := context.WithTimeout(c.ctx(), streamFor)
	defer cancel()
	if c.r.ProtoMajor == 1 {
		c.w.Header().Set("Connection", "close") // its deadline would be that of the next request
	}
	c.w.Header().Set("Content-Type", "text/event-stream")
	c.w.Header().Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
	ticker := time.NewTicker(watchedAge)
	defer ticker.Stop()
	for {
		s, err := c.d.sampler.get(ctx, watchedAge-watchedAge/10)
		if err != nil {
			return nil
		}
		body, err := json.Marshal(c.d.status(s))
		if err != nil || len(body) > c.d.mostAnswer() {
			return nil
		}
		_ = rc.SetWriteDeadline(time.Now().Add(streamPatience)) // in place of the server's, which is for whole answers
		if _, err := fmt.Fprintf(c.w, "event: sample\ndata: %s\n\n", body); err != nil || rc.Flush() != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
