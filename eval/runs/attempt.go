package runs

import (
	"encoding/json"
	"time"
)

// Outcome says how an attempt ended, such as "completed" or "limit".
type Outcome string

// The outcomes. [Attempt.IsInfrastructureFailure] says which of them say nothing about the agent's
// work.
const (
	OutcomeCompleted     Outcome = "completed"              // the agent submitted an answer with the completion marker
	OutcomeStopped       Outcome = "stopped_without_answer" // the agent ended its last turn without such a submission
	OutcomeLimit         Outcome = "limit"                  // a limit of the attempt was exceeded; see Limits
	OutcomeAskedQuestion Outcome = "asked_question"         // the agent asked the user a second question
	OutcomeKernelExit    Outcome = "kernel_exit"            // the kernel died
	OutcomeAgentError    Outcome = "agent_error"            // the agent reported a fatal error, or broke the protocol
	OutcomeAgentExit     Outcome = "agent_exit"             // the agent died
	OutcomeConsoleLost   Outcome = "console_lost"           // the console that held the notebook was away too long
	OutcomeHarnessError  Outcome = "harness_error"          // a fault of this program, or a full disk
	OutcomeSetupError    Outcome = "setup_error"            // data is missing, or kernel, agent or the case's setup failed
	OutcomeCancelled     Outcome = "cancelled"              // the run was interrupted
)

// The types of the lines of attempts.jsonl, beside the header.
const (
	TypeAttempt = "attempt" // an [Attempt]
	TypeSkipped = "skipped" // a [SkippedCase]
	TypeSummary = "summary" // eval/batch.Summary
)

// Attempt is the JSON of an attempt's line in attempts.jsonl: its outcome, verdict, usage and
// files.
type Attempt struct {
	Type    string   `json:"type"` // "attempt"
	Run     string   `json:"run"`
	CaseID  string   `json:"case_id"`
	Tags    []string `json:"tags,omitempty"`   // of the case
	Epoch   int      `json:"epoch"`            // from 1
	Try     int      `json:"try"`              // from 1
	Person  string   `json:"person,omitempty"` // who did the agent's work; absent: an agent
	Outcome Outcome  `json:"outcome"`
	Detail  string   `json:"outcome_detail"` // for people: why it ended so

	// Passed and Score (0 to 1) are nil if there is no verdict: attempts with this outcome are
	// not graded, the case has no grader, or the grading has failed.
	Passed  *bool             `json:"passed"`
	Score   *float64          `json:"score"`
	Grading *GradingFailure   `json:"grading,omitempty"` // nil: the grading has not failed
	Graders []json.RawMessage `json:"graders"`           // a result per grader: type, passed, score, reasoning, metrics, error
	Answer  json.RawMessage   `json:"answer"`            // the JSON that the agent submitted; null: none
	Summary string            `json:"summary"`           // text of the last submission

	Started    time.Time  `json:"started"`
	Ended      time.Time  `json:"ended"`
	DurationMS int64      `json:"duration_ms"`
	Phases     PhaseTimes `json:"phases"`
	Usage      Usage      `json:"usage"`
	Limits     Limits     `json:"limits"`

	// Paths relative to the run's folder.
	NotebookState string   `json:"notebook_state"` // state.json; empty: it was not collected
	Trace         string   `json:"trace"`          // trace.jsonl
	Files         []string `json:"files"`          // all files of the attempt

	TamperSignals int `json:"tamper"`        // completion markers in places where they mean nothing, misused ids, forbidden connections
	Interventions int `json:"interventions"` // changes and messages by people at consoles

	// Redacted is how many secrets, such as API keys, were replaced in the attempt's files.
	Redacted int64 `json:"redacted"`

	// Enforced says what was enforced for the attempt's processes. A key is true if it held for every
	// process in whose record it is; keys that no process has are absent. The keys are those of
	// subprocess.Process.Enforced, and "disk".
	Enforced map[string]bool `json:"enforced"`
}

// GradingFailure says why the graders of an attempt came to no verdict, which is not the agent's
// fault. The attempt can be graded again.
type GradingFailure struct {
	ErrorKind string `json:"error_kind"` // model, command or kernel: what did not work
	Text      string `json:"text"`       // of the first grader that failed
}

// PhaseTimes has the duration of each phase of an attempt in milliseconds.
type PhaseTimes struct {
	StartMS   int64 `json:"start_ms"`   // starting kernel and agent, and the case's setup
	WorkMS    int64 `json:"work_ms"`    // from the task to the end of the agent's work
	WaitMS    int64 `json:"wait_ms"`    // the part of WorkMS in which the agent waited to call its models; by its own account if no call went through the server
	CollectMS int64 `json:"collect_ms"` // collecting the notebook's state and stopping the agent
	GradeMS   int64 `json:"grade_ms"`
}

// Usage is the tokens, cost in US dollars, calls and actions that an attempt has used. If its agent's
// calls of models went through the server, tokens, cost, calls and retries are those of these calls, and
// otherwise what the agent reports.
type Usage struct {
	InputTokens  int64    `json:"input_tokens"` // of all prompts, cached or not
	OutputTokens int64    `json:"output_tokens"`
	CostUSD      *float64 `json:"cost_usd"`               // nil: the price is unknown
	ModelCalls   int      `json:"model_calls"`            // that got a reply, or else assistant messages
	CachedCalls  int      `json:"cached_calls,omitempty"` // of ModelCalls: the cache has replied; their tokens count, but they cost nothing
	Actions      int      `json:"actions"`                // of the agent
	CellsRun     int      `json:"cells_run"`              // executions of cells that have ended
	Retries      int      `json:"retries"`                // failed model calls that were repeated

	// Parts of InputTokens: read from the provider's cache, and written to it.
	CacheReadInputTokens     int64 `json:"cache_read_input_tokens"`
	CacheCreationInputTokens int64 `json:"cache_creation_input_tokens"`

	// Reported is what the agent has reported, if the other numbers are those of its calls; nil: nothing.
	Reported *ReportedUsage `json:"reported,omitempty"`
}

// ReportedUsage is what an agent has reported of its calls of models.
type ReportedUsage struct {
	InputTokens  int64    `json:"input_tokens"` // of all prompts, cached or not
	OutputTokens int64    `json:"output_tokens"`
	CostUSD      *float64 `json:"cost_usd"` // nil: nothing
}

// Limits are the limits of one attempt on time, turns, actions, tokens, cost, disk space and the size of
// its trace. 0 means no limit.
type Limits struct {
	WallTimeoutS float64 `json:"wall_s"`     // seconds since the agent got its task
	IdleTimeoutS float64 `json:"idle_s"`     // seconds without a frame of the agent while no cell runs
	CellTimeoutS float64 `json:"cell_s"`     // seconds that a run of a cell or an execute_code may take
	MaxTurns     int     `json:"turns"`      // assistant messages
	MaxActions   int     `json:"actions"`    // of the agent
	MaxTokens    int64   `json:"tokens"`     // input and output, of the calls through the server and by the agent's account
	MaxCostUSD   float64 `json:"cost_usd"`   // as for MaxTokens
	MaxDiskBytes int64   `json:"disk_bytes"` // added to the working folder, measured each second

	MaxTraceBytes int64 `json:"trace_bytes"` // of messages in the trace
}

// IsInfrastructureFailure reports whether the attempt ended for a reason that says nothing
// about the agent's work, such as a fault of the harness. Such an attempt has no verdict.
func (a *Attempt) IsInfrastructureFailure() bool {
	switch a.Outcome {
	case OutcomeAgentError, OutcomeAgentExit, OutcomeConsoleLost, OutcomeHarnessError, OutcomeSetupError, OutcomeCancelled:
		return true
	case OutcomeKernelExit:
		return a.Passed == nil && a.Grading == nil // it was graded if the agent's code killed the kernel
	default:
		return false
	}
}

// SkippedCase is the JSON line in attempts.jsonl of a case that was not tried because this
// machine lacks something that it requires.
type SkippedCase struct {
	Type   string `json:"type"` // "skipped"
	CaseID string `json:"case_id"`
	Reason string `json:"reason"` // what is missing
}
