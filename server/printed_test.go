package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/session"
	"assay/router"
	"assay/server"
)

type printedLine struct {
	N       int64     `json:"n"`
	At      time.Time `json:"at"`
	Name    string    `json:"name"`
	Process int       `json:"process"`
	Text    string    `json:"text"`
}

// printedAt are the lines that the API has of a session.
func printedAt(t *testing.T, url, id string) (lines []printedLine) {
	t.Helper()
	body, err := json.Marshal(getJSON(t, strings.Replace(url, "ws", "http", 1)+"/api/sessions/"+id+"/printed")["lines"])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(body, &lines))
	return lines
}

func texts(lines []printedLine) (texts []string) {
	for _, line := range lines {
		texts = append(texts, line.Text)
	}
	return texts
}

// An agent that dies before it is ready leaves its last words, the one too that
// did not end, and they stay for whoever looks when the session has failed.
func TestLastWordsOfAnAgentThatDoesNotStart(t *testing.T) {
	t.Parallel()
	sup := make(chan func(context.Context, server.StartOptions) (*session.Session, error), 1)
	h := newHouse(t, server.Config{TraceDir: t.TempDir(), StartSession: func(ctx context.Context, o server.StartOptions) (*session.Session, error) {
		open := <-sup
		sup <- open
		return open(ctx, o)
	}})
	sup <- func(ctx context.Context, o server.StartOptions) (*session.Session, error) {
		return session.Start(ctx, h.sup, session.Config{
			ID: o.SessionID, Journal: o.Journal, Environ: os.Environ(), WorkdirRoot: h.sup.TempDir(), ChildLineSink: o.ChildLineSink, Kernel: busy(),
			Agent:  agent.Config{Command: []string{"sh", "-c", `echo 'Traceback: <b>'; printf 'ModuleNotFoundError: no\377' >&2; exit 3`}},
			Router: router.Config{Shared: true},
		})
	}
	require.ErrorContains(t, h.web.StartSession(t.Context(), "s"), "exited with status 3")
	lines := printedAt(t, h.url, "s")
	require.ElementsMatch(t, []string{"Traceback: <b>", "ModuleNotFoundError: no\uFFFD"}, texts(lines))
	require.Equal(t, "agent", lines[0].Name)
	require.WithinDuration(t, time.Now(), lines[0].At, time.Minute)
	require.Error(t, h.web.StartSession(t.Context(), "s"))
	again := printedAt(t, h.url, "s")
	require.Len(t, again, 4)
	require.NotEqual(t, again[1].Process, again[2].Process, "it is another one")
}

// What is printed is told as it comes, each line once, also to who comes later.
func TestPrintedIsFollowed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	show := h.web.PublishAttempts("default")
	say := show.ChildLineSink("agent")
	say([]byte("one"))
	watcher := dialPrinted(t, h.url)
	require.Equal(t, []string{"one"}, texts(watcher.next(t)))
	show.ChildLineSink("kernel")([]byte("two"))
	say([]byte("three"))
	var got []printedLine
	for len(got) < 2 {
		got = append(got, watcher.next(t)...)
	}
	require.Equal(t, []string{"two", "three"}, texts(got))
	require.Equal(t, []string{"kernel", "agent"}, []string{got[0].Name, got[1].Name})
	require.Equal(t, []string{"one", "two", "three"}, texts(dialPrinted(t, h.url).next(t)))
	show.Close()
	_, _, err := watcher.ws.Read(t.Context())
	require.Equal(t, websocket.StatusNormalClosure, websocket.CloseStatus(err), "%v", err)
}

// The newest lines are kept, and one child's leave another's alone.
func TestPrintedIsKeptInBounds(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	show := h.web.PublishAttempts("default")
	t.Cleanup(show.Close)
	show.ChildLineSink("kernel")([]byte("the last word"))
	say := show.ChildLineSink("agent")
	for n := range 200_000 {
		say(fmt.Append(nil, n))
	}
	lines := printedAt(t, h.url, "default")
	require.Equal(t, "the last word", lines[0].Text)
	require.Len(t, lines, 1+1024)
	require.Equal(t, "199999", lines[len(lines)-1].Text)
	say(make([]byte, 1<<20))
	require.Len(t, printedAt(t, h.url, "default"), 2, "one line is always kept")
}

// Nobody hears what was printed without the token, or of a session that is not.
func TestPrintedIsForThoseWhoMay(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{Token: "secret"})
	show := h.web.PublishAttempts("default")
	t.Cleanup(show.Close)
	for path, status := range map[string]int{
		"/api/sessions/default/printed": 401, "/printed": 401, "/printed?token=secret&session=x": 404,
		"/api/sessions/x/printed?token=secret": 404, "/printed?token=secret&from=1": 400, "/api/sessions/default/printed?token=secret": 200,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.Replace(h.url, "ws", "http", 1)+path, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, status, answer.StatusCode, path)
	}
}

type printedWatcher struct{ ws *websocket.Conn }

func dialPrinted(t *testing.T, url string) printedWatcher {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), url+"/printed", nil) //nolint:bodyclose // the library closes it
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return printedWatcher{ws}
}

func (w printedWatcher) next(t *testing.T) []printedLine {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), generous)
	defer cancel()
	_, body, err := w.ws.Read(ctx)
	require.NoError(t, err)
	var page struct {
		Lines []printedLine `json:"lines"`
	}
	require.NoError(t, json.Unmarshal(body, &page))
	return page.Lines
}
