;;; assay-run.el --- Tasks: cells, execute_code and resets  -*- lexical-binding: t -*-

;;; Commentary:

;; The tasks for run_cell, execute_code and reset_kernel_globals.  Each runs and
;; then answers its request; see assay-schedule.el.

;;; Code:

(require 'assay-batch)
(require 'assay-eval)
(require 'assay-names)
(require 'assay-schedule)
(require 'assay-state)
(require 'assay-text)

(defun assay-run-cell (cell code)
  "Return a task that runs CODE as the cell CELL."
  (make-assay-task
   :cell cell
   :run (lambda (task) (assay-run--cell task code))
   :answer #'assay-run--cell-result))

(defun assay-run--cell (task code)
  "Run CODE as the cell of TASK, send its text and output, and return the outcome."
  (let ((start (float-time))
        (outcome nil))
    (assay-text-begin (assay-task-cell task))
    (setq outcome (assay-run--evaluate code))
    (assay-text-end)
    (assay-run--output task outcome)
    (append outcome (list :duration (* 1000 (- (float-time) start))))))

(defun assay-run--evaluate (code)
  "Evaluate CODE in the buffer that was current when the last code ended.
Return the plist of `agent-eval' with the names that CODE has bound as :names."
  (let ((before nil)
        (outcome nil)
        (restore (assay-names-function-restorer)))
    (with-current-buffer (assay-state-buffer)
      (let ((assay-eval-before-function
             (lambda (forms) (setq before (assay-names-bindings forms)))))
        (setq outcome (agent-eval code)))
      (funcall restore) ; the kernel's functions, which the code may have changed
      (assay-state-keep-buffer))
    (assay-batch-flush)
    (append outcome (list :names (assay-names-changed before)))))

(defun assay-run--output (task outcome)
  "Send the result or the error in OUTCOME as an output of TASK's cell."
  (let ((output (cond
                 ((plist-get outcome :result) (assay-run--result task outcome))
                 ((plist-get outcome :error) (assay-run--error outcome)))))
    (when output
      (assay-channel-send
       (list :type "cell_output" :cell_id (assay-task-cell task)
             :run_sequencer (assay-task-sequencer task) :output output)))))

(defun assay-run--result (task outcome)
  "Return the result in OUTCOME as an nbformat output of TASK."
  (list :output_type "execute_result"
        :data (list :text/plain (plist-get outcome :result))
        :metadata nil
        :execution_count (assay-task-sequencer task)))

(defun assay-run--error (outcome)
  "Return the error in OUTCOME as an nbformat output."
  (list :output_type "error"
        :ename (plist-get outcome :name)
        :evalue (plist-get outcome :error)
        :traceback (vconcat (split-string (assay-run--exception outcome) "\n"))))

(defun assay-run--exception (outcome)
  "Return the error in OUTCOME with its location, or nil."
  (let ((text (plist-get outcome :error))
        (place (plist-get outcome :place)))
    (if place (concat text "\n  " place) text)))

(defun assay-run--status (task outcome)
  "Return the status of TASK, whose OUTCOME is nil if it was rejected."
  (cond ((or (null outcome) (assay-task-stopped task)) "interrupted")
        ((plist-get outcome :success) "ok")
        (t "error")))

(defun assay-run--cell-result (task outcome)
  "Send the cell_result of TASK, which ended with OUTCOME."
  (assay-channel-send
   (list :type "cell_result"
         :cell_id (assay-task-cell task)
         :run_sequencer (assay-task-sequencer task)
         :status (assay-run--status task outcome)
         :has_exception (if (plist-get outcome :error) t :false)
         :exception (or (assay-run--exception outcome) :null)
         :outputs (vconcat (plist-get outcome :names))
         :dataframe_outputs [] :figure_outputs [] :static_figure_outputs []
         :duration_ms (or (plist-get outcome :duration) 0))))

(defun assay-run-code (code tx pristine)
  "Return a task that runs CODE without a cell, for the execute_code TX.
If PRISTINE is set, it first restores functions of Emacs that cells have
replaced."
  (make-assay-task
   :tx tx
   :run (lambda (_)
          (when pristine
            (funcall (assay-names-function-restorer) t))
          (assay-run--code code))
   :answer #'assay-run--code-response))

(defun assay-run--code (code)
  "Run CODE and return its outcome, with what it printed as :text."
  (assay-text-begin nil)
  (let ((outcome (assay-run--evaluate code)))
    (append outcome (list :text (assay-text-end)))))

(defun assay-run--code-response (task outcome)
  "Answer the execute_code of TASK, which ended with OUTCOME."
  (assay-channel-answer
   (assay-task-tx task)
   :type "execute_code_response"
   :status (assay-run--status task outcome)
   :result (or (plist-get outcome :result) :null)
   :stdout (or (plist-get outcome :text) "")
   :stderr ""
   :exception (or (assay-run--exception outcome) :null)
   :ename (or (plist-get outcome :name) :null)
   :error (or (plist-get outcome :error) :null)
   :forms (or (plist-get outcome :forms) 0)))

(defun assay-run-reset (tx)
  "Return a task that resets the kernel, for the request TX."
  (make-assay-task
   :tx tx
   :run (lambda (_) (list :problems (assay-state-reset)))
   :answer #'assay-run--reset-complete))

(defun assay-run--reset-complete (task outcome)
  "Answer the reset of TASK, which ended with OUTCOME."
  (let ((problems (cond ((null outcome) '("stopped before it ran"))
                        ((plist-get outcome :error) (list (plist-get outcome :error)))
                        (t (plist-get outcome :problems)))))
    (apply #'assay-channel-answer (assay-task-tx task)
           :type "reset_kernel_globals_complete"
           :threads (vconcat (assay-state-threads))
           (and problems (list :error (mapconcat #'identity problems "; "))))))

(provide 'assay-run)
;;; assay-run.el ends here
