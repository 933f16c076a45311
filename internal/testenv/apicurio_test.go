package testenv

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

//leat:level 2
func TestRegistry_SpeaksConfluentsAPI(t *testing.T) {
	t.Parallel()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, Registry(t).URL+"/subjects", nil)
	require.NoError(t, err)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Contains(t, response.Header.Get("Content-Type"), "json")
}
