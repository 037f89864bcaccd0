package blocks_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/blocks"
	"assay/internal/model"
)

// pieceModel is a model that replies to the last paragraph of the last message. If it has no
// other reply, it is "saw: " and that paragraph.
type pieceModel func(ctx context.Context, text string) (string, error)

// Complete returns the reply.
func (m pieceModel) Complete(ctx context.Context, req model.Request, _ func(model.Delta)) (*model.Response, error) {
	text := model.JoinTextBlocks(req.Messages[len(req.Messages)-1].Content)
	text = text[strings.LastIndex("\n\n"+text, "\n\n"):]
	reply, err := m(ctx, text)
	return agenttest.NewModelReply(model.Text(cmp.Or(reply, "saw: "+text))), err
}

// startAgentOnPython runs an agent with a model on a real Python kernel.
func startAgentOnPython(t *testing.T, cfg blocks.Config, m pieceModel) *agenttest.Server {
	t.Helper()
	cfg.Agent.Model = m
	p := startAgent(t, cfg)
	p.AttachKernel(agenttest.StartPythonKernel(t))
	p.InitAndAwaitReady(nil)
	return p
}

// repliesTo returns a pieceModel with these replies, by text.
func repliesTo(replies map[string]string) pieceModel {
	return func(_ context.Context, text string) (string, error) { return replies[text], nil }
}

// fenced returns a reply with one code block for each of the codes.
func fenced(codes ...string) string { return "```\n" + strings.Join(codes, "\n```\n```\n") + "\n```" }

// lastFeedback returns the output of blocks that the conversation with the final reply got last.
func lastFeedback(p *agenttest.Server) string {
	said := p.MessageTexts()
	return strings.TrimPrefix(said[len(said)-1], "assistant: saw: ")
}

// The reply to ai() is its value; both conversations share the kernel.
func TestBL11_AIReturnsTheReplyOfANewConversation(t *testing.T) {
	t.Parallel()
	p := startAgentOnPython(t, blocks.Config{}, repliesTo(map[string]string{
		"go":      fenced("start = 6", "text = await ai('compute')\ntext.upper()", "result + 1"),
		"compute": fenced("result = start * 7\nresult"),
	}))
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "[Block 1 output]\n(no output)\n[Block 2 output]\n'SAW: [BLOCK 1 OUTPUT]\\n42'\n[Block 3 output]\n43", lastFeedback(p))
	require.Contains(t, replyTaskNames(p), "ai:1-1:compute")
	require.Contains(t, p.MessageTexts(), "user: ## Namespace\n\nstart: int = 6\n\ncompute")
	var labels []string
	for _, f := range p.EventsOfType("ai_exec") {
		labels = append(labels, f.ObjectField("metadata").StringField("label"))
	}
	require.Equal(t, []string{"1", "1", "1-1", "1"}, labels)

	p.QueryAndWait("go")
	require.Contains(t, replyTaskNames(p), "ai:1-2:compute", "each conversation has its own label")
}

// gather asks several at once, at most eight; the others wait.
func TestBL11_EightConversationsWorkAtOnce(t *testing.T) {
	t.Parallel()
	var working, most atomic.Int32
	eight := make(chan struct{})
	p := startAgentOnPython(t, blocks.Config{}, func(ctx context.Context, prompt string) (string, error) {
		switch {
		case prompt == "go":
			return fenced("','.join(await gather(*[ai(f'count {i}') for i in range(20)]))"), nil
		case !strings.HasPrefix(prompt, "count "):
			return "", nil
		}
		now := working.Add(1)
		defer working.Add(-1)
		if now > most.Load() {
			most.Store(now)
		}
		if now == 8 {
			select {
			case <-eight:
			default:
				close(eight)
			}
		}
		select {
		case <-eight:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		return strings.TrimPrefix(prompt, "count "), nil
	})
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "[Block 1 output]\n'0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19'", lastFeedback(p))
	require.EqualValues(t, 8, most.Load())
}

// Two conversations of the user ask at the same time; each gets its own replies.
func TestBL11_LabelsAskIndependently(t *testing.T) {
	t.Parallel()
	replies := map[string]string{}
	for _, label := range []string{"a", "b"} {
		replies["go "+label] = fenced("await gather(*[ai(f'" + label + "{i}') for i in range(3)])")
		for i := range 3 {
			replies[fmt.Sprint(label, i)] = fmt.Sprint(label, "-", i)
		}
	}
	p := startAgentOnPython(t, blocks.Config{}, repliesTo(replies))
	p.SendQueries("@a go a", "@b go b")
	p.AwaitQueryEnds(2)
	require.Contains(t, p.MessageTexts(), "assistant: saw: [Block 1 output]\n['a-0', 'a-1', 'a-2']")
	require.Contains(t, p.MessageTexts(), "assistant: saw: [Block 1 output]\n['b-0', 'b-1', 'b-2']")
}

// A function that calls ai() can be used by later blocks that do not have the name.
func TestBL11_AFunctionOfAnEarlierBlockCallsAI(t *testing.T) {
	t.Parallel()
	p := startAgentOnPython(t, blocks.Config{}, repliesTo(map[string]string{
		"go": fenced("async def ask(x):\n    return await ai(x)", "await ask('there?')"), "there?": "yes",
	}))
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "[Block 1 output]\n(no output)\n[Block 2 output]\n'yes'", lastFeedback(p))
}

// Whatever ends a conversation without a final reply is an exception in the code that asked.
func TestBL11_FailuresAreExceptions(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"fail":   "no \"idea\"\n",
		"exit":   "the conversation was ended by its own code\n",
		"rounds": "limit reached: max_eval_iters 1 of 1\n",
		"nested": "RuntimeError: ai() works in the agent's code blocks only, and not in conversations that ai() has started\n",
	} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			p := startAgentOnPython(t, blocks.Config{MaxRounds: 1}, func(_ context.Context, text string) (string, error) {
				switch text {
				case "go":
					return fenced("try:\n    print(await ai('" + prompt + "'))\nexcept RuntimeError as error:\n    print(error)"), nil
				case "fail":
					return "", errors.New("no \"idea\"")
				case "exit":
					return fenced("raise SystemExit"), nil
				case "nested":
					return fenced("await ai('deeper')"), nil
				case "rounds", "[Block 1 output]\n'more'":
					return fenced("'more'"), nil
				}
				return "", nil
			})
			require.Equal(t, "done", p.QueryAndWait("go"))
			said := p.MessageTexts()
			require.Contains(t, said[len(said)-2]+"\n", want)
			require.Empty(t, p.FramesOfType("agent_error"))
		})
	}
}

// If nobody awaits a reply any more, the conversation is given up.
func TestBL11_AReplyThatIsNotAwaitedIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"timed out":     "import asyncio\ntry:\n    await asyncio.wait_for(ai('hang'), 0.01)\nexcept asyncio.TimeoutError:\n    print('too late')",
		"at the end":    "import asyncio\ntask = asyncio.ensure_future(ai('hang'))\nawait asyncio.sleep(0)\nprint('too late')",
		"after a crash": "try:\n    await gather(ai('hang'), ai('fail'))\nexcept RuntimeError:\n    print('too late')",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startAgentOnPython(t, blocks.Config{}, func(ctx context.Context, prompt string) (string, error) {
				switch prompt {
				case "go":
					return fenced(code, "await ai('still there?')"), nil
				case "hang":
					<-ctx.Done()
					return "", ctx.Err()
				case "fail":
					return "", errors.New("failed")
				case "still there?":
					return "yes", nil
				}
				return "", nil
			})
			require.Equal(t, "done", p.QueryAndWait("go"))
			require.Equal(t, "[Block 1 output]\ntoo late\n[Block 2 output]\n'yes'", lastFeedback(p))
			require.Empty(t, p.FramesOfType("agent_error"))
		})
	}
}

// A cancel ends the block, and the conversations that it has started, with their code.
func TestBL11_CancelEndsAllConversations(t *testing.T) {
	t.Parallel()
	p := startAgentOnPython(t, blocks.Config{}, repliesTo(map[string]string{
		"go":   fenced("await gather(ai('loop'), ai('loop'))"),
		"loop": fenced("import asyncio\nprint('begun')\nawait asyncio.sleep(1000)"),
		"and?": "done",
	}))
	seen := len(p.Frames())
	p.SendQuery("go")
	for _, label := range []string{"1-1", "1-2"} {
		p.AwaitFrame(seen, "the block of "+label, func(f frame) bool {
			return f.StringField("action") == "execute_code" && f.ObjectField("params").StringField("session") == label
		})
	}
	p.SendFrame(frame{"type": "agent_cancel", "request_id": "q1"})
	require.Equal(t, "ready", p.AwaitQueryEnd(seen))
	require.Len(t, p.EventsOfType("cancelled"), 1)
	require.Equal(t, "done", p.QueryAndWait("and?"))
}

// What code forges in the name of the kernel's module does no harm.
func TestBL11_ForgedPromptsAreIgnored(t *testing.T) {
	t.Parallel()
	p := startAgentOnPython(t, blocks.Config{}, repliesTo(map[string]string{
		"go": fenced(`import assay.ai
queue = assay.ai._queues["1"]
for forged in ('{"number": 9, "cancelled": true}', '{"number": 1, "prompt": "first"}', '{"number": 1, "prompt": "again"}'):
    class Forged:
        text = forged
        def __repr__(self):
            return self.text
    queue._messages.put_nowait(Forged())
await ai("hello")`, "40 + 2"),
		"first": "one", "again": "two", "hello": "three",
	}))
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Contains(t, lastFeedback(p), "[Block 2 output]\n42")
	require.NotContains(t, p.MessageTexts(), "assistant: two")
}

// In an evaluation the reply to ai() is not submitted, and it needs no marker.
func TestBL11_RepliesToAIAreNotSubmitted(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{"help", "help " + builtin.CompleteMarker} {
		p := startAgentOnPython(t, blocks.Config{}, func(_ context.Context, text string) (string, error) {
			switch text {
			case "go":
				return fenced("await ai('help')"), nil
			case "help":
				return reply, nil
			}
			return "9 " + builtin.CompleteMarker, nil
		})
		p.InitAndAwaitReady(frame{"eval_mode": true})
		require.Equal(t, "done", p.QueryAndWait("go"))
		require.Equal(t, []builtin.Submission{expectedSubmission("9 " + builtin.CompleteMarker)}, p.Submissions())
		require.Len(t, p.EventsOfType("response"), 3, "no reminder")
	}
}

// A kernel without ai() runs the block all the same, and the model learns why ai() fails.
func TestBL11_KernelsWithoutAI(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine(fenced("await ai('x')")), agenttest.TextScriptLine("done"))
	p.AnswerExecuteCodeWith(func(code string) frame {
		if strings.Contains(code, "assay.ai") {
			return frame{"status": "error", "exception": "Traceback\nModuleNotFoundError", "ename": "ModuleNotFoundError", "error": "No module named 'assay'"}
		}
		return frame{"status": "error", "exception": "NameError: ai", "ename": "NameError"}
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "user: [Block 1 output]\nai() is not available: ModuleNotFoundError: No module named 'assay'\nNameError: ai", p.MessageTexts()[2])
}

// Other languages, and blocks without the name, cost no further requests to the kernel.
func TestBL11_BlocksWithoutAIAreRunAsTheyAre(t *testing.T) {
	t.Parallel()
	for language, code := range map[string]string{"python": "aims = fail", "R": "ai(1)"} {
		p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine(fenced(code)), agenttest.TextScriptLine("done"))
		p.InitAndAwaitReady(frame{"language": language})
		require.Equal(t, "done", p.QueryAndWait("go"))
		require.Equal(t, 1, p.CountFramesWithField("action", "execute_code"))
	}
}

// The system prompt speaks of ai() only where code can call it.
func TestBL11_SystemPrompts(t *testing.T) {
	t.Parallel()
	var prompts []string
	client := textReplyModel(func(req model.Request) string {
		prompts = append(prompts, req.System[0].Text)
		return echoReply(req)
	})
	p := startAgent(t, blocks.Config{Agent: builtin.Config{Model: client}})
	p.AttachKernel(agenttest.StartPythonKernel(t))
	p.InitAndAwaitReady(nil)
	p.QueryAndWait(promptForReplyWithBlocks("await ai('hello')"))
	require.Len(t, prompts, 3)
	require.Contains(t, prompts[0], "await ai(")
	require.Contains(t, prompts[0], "call `submit_response`")
	require.Equal(t, prompts[0], prompts[2])
	require.NotContains(t, prompts[1], "ai(")
	require.NotContains(t, prompts[1], "submit_response")
	require.Contains(t, prompts[1], "waits for your final reply")

	p.InitAndAwaitReady(frame{"language": "elisp"})
	p.QueryAndWait("hello")
	require.NotContains(t, prompts[3], "ai(")
	for _, text := range prompts {
		require.NotContains(t, text, "\n\n\n")
		require.NotContains(t, text, "{")
	}
}
