// Package parkjson encodes attempts and parked messages as JSON, in which the inboxes in
// databases store them for operators and for SQL.
package parkjson

import (
	"encoding/json"
	"time"

	"github.com/leat-go/leat/inbox/driver"
)

// storedError is the stored form of a driver.AttemptError.
type storedError struct {
	At    time.Time `json:"at"`
	Error string    `json:"error"`
}

// EncodeErrors returns the stored form of the errors of a history.
func EncodeErrors(errs ...driver.AttemptError) (string, error) {
	all := make([]storedError, len(errs))
	for i, e := range errs {
		all[i] = storedError{At: e.At.UTC(), Error: e.Error}
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// DecodeErrors is the inverse of EncodeErrors.
func DecodeErrors(text string) ([]driver.AttemptError, error) {
	var all []storedError
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, err
	}
	errs := make([]driver.AttemptError, len(all))
	for i, e := range all {
		errs[i] = driver.AttemptError(e)
	}
	return errs, nil
}
