package replay_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/replay"
	"assay/internal/redact"
)

// askCache returns the text of the cached reply to a request, or stores and returns "new" if there is none.
func askCache(t *testing.T, a *replay.AttemptCache, key replay.CacheKey) string {
	t.Helper()
	slot, err := a.Reserve(key)
	require.NoError(t, err)
	defer slot.Release()
	if response := slot.Load(); response != nil {
		return model.ReplyText(response.Content)
	}
	require.NoError(t, slot.Store(replay.Call{API: key.API, Model: key.Model, Request: key.Request, At: time.Now(), Response: reply("stored " + string(key.Request))}))
	return "new"
}

func openCache(t *testing.T, dir string) *replay.Cache {
	t.Helper()
	cache, err := replay.OpenCache(dir, nil)
	require.NoError(t, err)
	return cache
}

// A call gets the reply of an equal one of an earlier attempt in the same epoch and try. How the reply is streamed, the
// order of the members and the name in the request make no difference.
func TestCacheAnswersEqualCalls(t *testing.T) {
	t.Parallel()
	cache := openCache(t, filepath.Join(t.TempDir(), "new", "folder"))
	scope := replay.CacheScope{Epoch: 1, Try: 1}
	key := func(request string) replay.CacheKey {
		return replay.CacheKey{API: "chat", Model: "openai/gpt-5", Endpoint: "https://api.openai.com/v1", Request: []byte(request)}
	}
	first := key(`{"model":"assay","temperature":1,"messages":[]}`)
	require.Equal(t, "new", askCache(t, cache.ForAttempt(replay.Normalizer{}, scope), first))
	for name, same := range map[string]string{
		"same": string(first.Request), "another order": `{"messages":[], "temperature":1}`, "streamed": `{"model":"gpt-5","temperature":1,"messages":[],"stream":true,"stream_options":{}}`,
	} {
		require.Equal(t, "stored "+string(first.Request), askCache(t, cache.ForAttempt(replay.Normalizer{}, scope), key(same)), name)
	}
	for name, change := range map[string]func(*replay.CacheKey, *replay.CacheScope){
		"API":      func(k *replay.CacheKey, _ *replay.CacheScope) { k.API = "responses" },
		"model":    func(k *replay.CacheKey, _ *replay.CacheScope) { k.Model = "openai/gpt-4.1" },
		"endpoint": func(k *replay.CacheKey, _ *replay.CacheScope) { k.Endpoint = "http://127.0.0.1" },
		"features": func(k *replay.CacheKey, _ *replay.CacheScope) { k.Features = "beta" },
		"setting":  func(k *replay.CacheKey, _ *replay.CacheScope) { k.Request = []byte(`{"temperature":0,"messages":[]}`) },
		"epoch":    func(_ *replay.CacheKey, s *replay.CacheScope) { s.Epoch = 2 },
		"try":      func(_ *replay.CacheKey, s *replay.CacheScope) { s.Try = 2 },
	} {
		other, at := first, scope
		change(&other, &at)
		require.Equal(t, "new", askCache(t, cache.ForAttempt(replay.Normalizer{}, at), other), name)
	}
}

// Equal calls of one attempt are different samples. A call without a reply does not count: its repetition has its place.
func TestCacheNumbersEqualCalls(t *testing.T) {
	t.Parallel()
	cache := openCache(t, t.TempDir())
	key := replay.CacheKey{API: "messages", Model: "anthropic/x", Request: []byte(`{"messages":[]}`)}
	run := func() (texts []string) {
		attempt := cache.ForAttempt(replay.Normalizer{}, replay.CacheScope{})
		for range 3 {
			refused, err := attempt.Reserve(key)
			require.NoError(t, err)
			if refused.Load() == nil {
				refused.Release()
			} else {
				texts = append(texts, "cached")
				continue
			}
			texts = append(texts, askCache(t, attempt, key))
		}
		return texts
	}
	require.Equal(t, []string{"new", "new", "new"}, run())
	require.Equal(t, []string{"cached", "cached", "cached"}, run())
	_, err := cache.ForAttempt(replay.Normalizer{}, replay.CacheScope{}).Reserve(replay.CacheKey{API: "chat", Request: []byte(`[]`)})
	require.Error(t, err)
}

// The working folder of an attempt and secrets are not part of an entry. An entry is a recording.
func TestCacheEntriesAreRecordings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	redactor, err := redact.New(redact.Config{Environ: []string{"API_KEY=s3cret-and-long-enough"}})
	require.NoError(t, err)
	cache := openCache(t, dir)
	key := func(box string) replay.CacheKey {
		return replay.CacheKey{API: "chat", Model: "openai/x", Request: []byte(`{"messages":["` + box + `/a.txt at 0x7f3a11 s3cret-and-long-enough"]}`)}
	}
	in := func(box string) *replay.AttemptCache {
		return cache.ForAttempt(replay.Normalizer{Session: "0001-a-e1-t1", Sandbox: []string{box}, Redactor: redactor}, replay.CacheScope{})
	}
	require.Equal(t, "new", askCache(t, in("/tmp/one"), key("/tmp/one")))
	require.Contains(t, askCache(t, in("/tmp/two"), key("/tmp/two")), "/tmp/two/a.txt")
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.NotContains(t, string(text), "s3cret-and-long")
	require.NotContains(t, string(text), "/tmp/one")
	require.NotContains(t, string(text), "0001-a")
	_, err = replay.ParseRecording("r", text)
	require.NoError(t, err)
}

// An entry that is damaged, of another call or an error is ignored, logged and replaced.
func TestCacheReplacesDamagedEntries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var logged bytes.Buffer
	cache, err := replay.OpenCache(dir, slog.New(slog.NewTextHandler(&logged, nil)))
	require.NoError(t, err)
	key := replay.CacheKey{API: "chat", Model: "openai/x", Request: []byte(`{"messages":[]}`)}
	ask := func() string { return askCache(t, cache.ForAttempt(replay.Normalizer{}, replay.CacheScope{}), key) }
	require.Equal(t, "new", ask())
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	whole, err := os.ReadFile(files[0])
	require.NoError(t, err)
	for name, damaged := range map[string]string{
		"empty": "", "cut": string(whole[:len(whole)/2]), "no JSON": "\x00\xff", "two": string(whole) + string(whole),
		"of another call": strings.Replace(string(whole), `"messages":[]`, `"messages":[1]`, 1), "of another API": strings.Replace(string(whole), `"api":"chat"`, `"api":"responses"`, 1),
		"an error": `{"api":"chat","model":"openai/x","request":{"messages":[]},"response":{"content":[],"stop_reason":"","usage":{}},"error":{"text":"x"}}`,
	} {
		require.NoError(t, os.WriteFile(files[0], []byte(damaged), 0o600))
		logged.Reset()
		require.Equal(t, "new", ask(), name)
		require.Contains(t, logged.String(), "level=WARN", name)
		require.NotEqual(t, "new", ask(), name)
	}
}

// Several processes may use a folder at once: there is never a part of an entry.
func TestCacheIsSharedByConcurrentRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var group sync.WaitGroup
	for range 8 {
		cache := openCache(t, dir)
		group.Go(func() {
			for range 20 {
				attempt := cache.ForAttempt(replay.Normalizer{}, replay.CacheScope{})
				slot, err := attempt.Reserve(replay.CacheKey{API: "chat", Model: "openai/x", Request: []byte(`{"messages":[]}`)})
				if err != nil {
					t.Error(err)
					return
				}
				if response := slot.Load(); response != nil && model.ReplyText(response.Content) != strings.Repeat("long ", 10_000) {
					t.Error("a part of an entry")
				}
				err = slot.Store(replay.Call{API: "chat", Model: "openai/x", Request: []byte(`{"messages":[]}`), Response: reply(strings.Repeat("long ", 10_000))})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	hidden, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	require.Empty(t, hidden)
}

// A reply that cannot be written leaves no file.
func TestCacheWithoutAFolder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := replay.OpenCache(file, nil)
	require.Error(t, err)
	cache := openCache(t, t.TempDir())
	slot, err := cache.ForAttempt(replay.Normalizer{}, replay.CacheScope{}).Reserve(replay.CacheKey{API: "chat", Request: []byte(`{}`)})
	require.NoError(t, err)
	require.Error(t, slot.Store(replay.Call{API: "chat", Request: []byte(`{`), Response: reply("x")}))
	require.Nil(t, slot.Load())
}
