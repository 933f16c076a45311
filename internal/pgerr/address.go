package pgerr

import (
	"net/url"
	"strings"
)

// Address returns the reason why address, a URL or keywords and values, cannot be used. If a URL
// cannot be parsed, err may contain a part of the password, however it was hidden.
func Address(address string, err error) string {
	u, bad := url.Parse(address)
	looksLikeURL := strings.Contains(address, ":/") || strings.Contains(address, "@")
	if looksLikeURL && (bad != nil || u.Host == "" && strings.Contains(address, "@") || strings.ContainsAny(address, " \t")) {
		return "must be like postgres://user:password@host:5432/database, with what is special in the password escaped, such as %2F for a slash"
	}
	return err.Error()
}
