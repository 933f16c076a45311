package dashboard_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/leat-go/leat/middleware/dashboard"
)

// fill puts numbers of the shop into a pattern.
func fill(pattern string) string {
	return strings.NewReplacer("{seq}", "1", "{no}", "1", "{$}", "", "/inboxes/consumer", "/inboxes/consumer?consumer=loyalty",
		"/inboxes/attempts", "/inboxes/attempts?consumer=loyalty", "/inboxes/watermarks", "/inboxes/watermarks?consumer=loyalty").Replace(pattern)
}

// Every page and every answer is there, and nothing of an attacker's is a tag.
func TestEveryRoute(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, r := range s.d.Routes() {
		method, pattern, _ := strings.Cut(r.Pattern, " ")
		if method != http.MethodGet || strings.HasSuffix(pattern, "/stream") {
			continue
		}
		w := s.get(fill(pattern))
		switch pattern {
		case "/api/v1/ranges":
			require.Equal(t, http.StatusNotImplemented, w.Code, "%s: memory has no ranges", pattern)
			require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
			continue
		case "/api/v1/trace":
			require.Equal(t, http.StatusBadRequest, w.Code, "%s: without an id", pattern)
			continue
		}
		require.Equal(t, http.StatusOK, w.Code, "%s: %s", pattern, w.Body)
		kind := w.Header().Get("Content-Type")
		switch {
		case !strings.HasPrefix(pattern, "/api/"):
			require.Equal(t, "text/html; charset=utf-8", kind, pattern)
			require.NotContains(t, w.Body.String(), "<script>alert", pattern)
			require.NotContains(t, w.Body.String(), "<img", pattern)
			require.NotContains(t, w.Body.String(), " style=", pattern)
		case kind == "application/json":
			require.True(t, json.Valid(w.Body.Bytes()), pattern)
		}
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'", pattern)
		require.NotContains(t, w.Header().Get("Content-Security-Policy"), "unsafe", pattern)
	}
	require.Contains(t, s.get("/trace?id=m-1").Body.String(), "Since is required")
	require.Contains(t, s.get("/trace?id=m-1").Body.String(), `name="since"`, "one may say it at once")
	require.Equal(t, http.StatusNotFound, s.get("/api/v1/nothing").Code)
	require.Equal(t, http.StatusNotFound, s.get("/nothing").Code)
	require.Equal(t, http.StatusNotFound, s.get("/static/README.md").Code)
}

type openAPI struct {
	Paths map[string]map[string]struct {
		Role       string `yaml:"x-role"`
		Parameters []struct {
			Ref string `yaml:"$ref"`
		} `yaml:"parameters"`
	} `yaml:"paths"`
	Components struct {
		Parameters map[string]struct {
			In string `yaml:"in"`
		} `yaml:"parameters"`
	} `yaml:"components"`
}

// The OpenAPI file has exactly the routes, roles and parameters that there are.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var file openAPI
	require.NoError(t, yaml.Unmarshal([]byte(dashboard.OpenAPI), &file))
	routes, documented := map[string]string{}, map[string]string{}
	for _, r := range s.d.Routes() {
		if strings.Contains(r.Pattern, "/api/v1/") {
			routes[r.Pattern] = string(r.Role)
		}
	}
	examples := strings.NewReplacer("limit", "limit=3", "dead", "dead=true", "oldest", "oldest=true", "all", "all=true", "state", "state=parked",
		"from", "from=2006-01-02", "to", "to=2999-01-02", "since", "since=2006-01-02", "outbox", "outbox=shop", "inbox", "inbox=shop")
	value := func(name string) string {
		switch name {
		case "limit", "dead", "oldest", "all", "state", "from", "to", "since", "outbox", "inbox":
			return examples.Replace(name)
		case "after":
			return "" // what it may be differs
		default:
			return name + "=loyalty"
		}
	}
	for pattern, methods := range file.Paths {
		for method, operation := range methods {
			documented[strings.ToUpper(method)+" "+pattern] = operation.Role
			if method == "post" || strings.HasSuffix(pattern, "/stream") {
				continue
			}
			query := []string{}
			for _, p := range operation.Parameters {
				name := path.Base(p.Ref)
				require.Contains(t, file.Components.Parameters, name)
				if file.Components.Parameters[name].In == "query" {
					query = append(query, value(name))
				}
			}
			target := strings.NewReplacer("{seq}", "1", "{no}", "1").Replace(pattern)
			w := s.get(target + "?" + strings.Join(query, "&"))
			require.NotContains(t, w.Body.String(), "is not a parameter", "%s?%s", target, query)
			w = s.get(target + "?" + strings.Join(append(query, "typo=1"), "&"))
			require.Equal(t, http.StatusBadRequest, w.Code, "%s takes a parameter that it does not know: %s", target, w.Body)
		}
	}
	require.Equal(t, routes, documented)
	require.Contains(t, s.get("/api/v1/openapi.yaml").Body.String(), "- url: /\n")
}

// The files of others are those that were looked at.
func TestVendored(t *testing.T) {
	t.Parallel()
	sums, err := fs.ReadFile(dashboard.Vendored, "vendored/SHA256SUMS")
	require.NoError(t, err)
	listed := regexp.MustCompile(`(?m)^([0-9a-f]{64})  (\S+)$`).FindAllStringSubmatch(string(sums), -1)
	require.Len(t, listed, 5)
	for _, line := range listed {
		content, err := fs.ReadFile(dashboard.Vendored, "vendored/"+line[2])
		require.NoError(t, err)
		sum := sha256.Sum256(content)
		require.Equal(t, line[1], hex.EncodeToString(sum[:]), line[2])
	}
	readme, err := fs.ReadFile(dashboard.Vendored, "vendored/README.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| (`.+`) \\| `\\S+` (\\S+), .+ \\| (\\S+), `(\\S+)` \\|$").FindAllStringSubmatch(string(readme), -1)
	told, licences := 0, map[string]string{"0BSD": "Zero-Clause BSD", "MIT": "The MIT License"}
	for _, row := range rows {
		licence, err := fs.ReadFile(dashboard.Vendored, "vendored/"+row[4])
		require.NoError(t, err)
		require.NotEmpty(t, licences[row[3]], row[3])
		require.Contains(t, string(licence), licences[row[3]])
		var versions strings.Builder
		for name := range strings.SplitSeq(row[1], ", ") {
			content, err := fs.ReadFile(dashboard.Vendored, "vendored/"+strings.Trim(name, "`"))
			require.NoError(t, err)
			versions.Write(content)
			told++
		}
		require.Contains(t, versions.String(), row[2], "the version that the table names")
		told++ // its licence
	}
	require.Equal(t, len(listed), told, "each file has a row, with its licence")
	files, err := fs.ReadDir(dashboard.Vendored, "vendored")
	require.NoError(t, err)
	require.Len(t, files, len(listed)+2, "each file but the table and the readme has a sum")
}
