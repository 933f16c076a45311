// Package webhooks has what the two ends of a webhook share: signatures of the
// specification Standard Webhooks, and the headers in which a message of an outbox
// travels.
package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// Headers of the specification.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// version marks signatures by a shared secret.
const version = "v1,"

// maxSignatures bounds the signatures that a receiver checks.
const maxSignatures = 32

// Timestamp returns t as a request carries it: whole seconds since 1970.
func Timestamp(t time.Time) string {
	return strconv.FormatInt(t.Unix(), 10)
}

// ParseTimestamp reads what Timestamp has written. It accepts only digits: the text is part of what
// was signed, and there is one spelling of it.
func ParseTimestamp(text string) (time.Time, bool) {
	if len(text) == 0 || len(text) > 11 {
		return time.Time{}, false
	}
	seconds := int64(0)
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return time.Time{}, false
		}
		seconds = seconds*10 + int64(c-'0')
	}
	return time.Unix(seconds, 0), true
}

// sum is the HMAC of what the specification signs. The id must be free of full stops, or
// it could run into the timestamp.
func sum(s Secret, id, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

// Sign returns the signatures by all of secrets, in their order, as the value of
// HeaderSignature.
func Sign(secrets []Secret, id, timestamp string, body []byte) string {
	var text strings.Builder
	for i, s := range secrets {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(version)
		text.WriteString(base64.StdEncoding.EncodeToString(sum(s, id, timestamp, body)))
	}
	return text.String()
}

// Verify reports whether one of the signatures in header was made by one of secrets. Signatures of
// other versions are skipped. A proxy may have joined several headers with a comma and a space.
func Verify(secrets []Secret, id, timestamp string, body []byte, header string) bool {
	var given [][]byte
	for text := range strings.FieldsSeq(header) {
		encoded, ok := strings.CutPrefix(text, version)
		if !ok {
			continue
		}
		if len(given) == maxSignatures {
			return false
		}
		signature, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(encoded, ","))
		if err == nil {
			given = append(given, signature)
		}
	}
	found := false
	for _, s := range secrets {
		want := sum(s, id, timestamp, body)
		for _, signature := range given {
			found = hmac.Equal(want, signature) || found
		}
	}
	return found
}
