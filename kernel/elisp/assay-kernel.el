;;; assay-kernel.el --- Run notebook cells for a server  -*- lexical-binding: t -*-

;; Package-Requires: ((emacs "28.1"))

;;; Commentary:

;; Start: "emacs -Q --batch -L FOLDER -l assay-kernel -f assay-kernel-serve SOCKET".
;;
;; This file has the main loop.  It reads requests, answers at once those that
;; run no code, and puts the others into a queue, from which it runs one task at
;; a time.  Emacs has one thread, so nothing is answered while code runs.  Then
;; requests are only searched for an order to stop that code, and only when the
;; server has sent a signal; see assay-guard.el.
;;
;; From the outside in: assay-run.el runs a task, assay-eval.el evaluates its
;; code, assay-text.el collects what is printed, assay-channel.el sends.

;;; Code:

(require 'assay-answers)
(require 'assay-batch)
(require 'assay-channel)
(require 'assay-guard)
(require 'assay-request)
(require 'assay-run)
(require 'assay-schedule)
(require 'assay-state)
(require 'assay-text)

(defconst assay-kernel--handlers
  (append
   '(("init" . ignore)
     ("run_cell" . assay-kernel--run-cell)
     ("execute_code" . assay-kernel--execute-code)
     ("reset_kernel_globals" . assay-kernel--reset)
     ("stop_cell" . assay-kernel--stop)
     ("dispose_cell" . assay-kernel--stop))
   assay-answers-handlers)
  "Alist from the type of a request to the function that handles it.")

(defvar assay-kernel--deferred-bodies nil "Bodies of requests that arrived while code ran, in order.")

(defun assay-kernel-serve ()
  "Connect to the socket in the last command line argument, and serve.
Never return: Emacs exits when the server closes the socket."
  (assay-guard-install)
  (assay-batch-install)
  (assay-channel-open (pop command-line-args-left))
  (assay-text-install)
  (setq assay-guard-stopped-function #'assay-kernel--stopped-p)
  (assay-channel-send
   (list :type "ready" :language "elisp" :version emacs-version :pid (emacs-pid)
         :protocol 1 :actions t :lacks ["reactivity" "widgets" "rich_outputs"]))
  (assay-state-record-initial)
  (while t
    (assay-kernel--call-catching #'assay-kernel--step)))

(defun assay-kernel--step ()
  "Handle all requests, then run the next task or, if there is none, wait."
  (assay-channel-poll)
  (assay-kernel--handle-all)
  (unless (assay-schedule-run-next)
    (assay-channel-wait)))

(defun assay-kernel--call-catching (step)
  "Call STEP and print its error.
Timers and process filters of the user may run meanwhile and fail."
  (let ((outcome (assay-guard-catch step)))
    (unless (car outcome)
      (assay-text-add (concat (assay-describe (cdr outcome)) "\n")))))

(defun assay-kernel--handle-all ()
  "Handle all requests that have arrived."
  (let ((body nil))
    (while (setq body (or (pop assay-kernel--deferred-bodies) (assay-channel-next)))
      (assay-kernel--handle body))))

(defun assay-kernel--handle (body)
  "Answer or queue the request in BODY, or send an error if it is malformed."
  (condition-case condition
      (let* ((request (assay-request-read body))
             (type (assay-request-type request))
             (handler (cdr (assoc type assay-kernel--handlers))))
        (unless handler
          (assay-request-fail "unknown message type '%s'" type))
        (funcall handler request))
    (assay-request-malformed (assay-kernel--send-error (cadr condition)))
    (error (assay-kernel--send-error (concat "a message could not be handled: "
                                         (assay-describe condition))))))

(defun assay-kernel--send-error (text)
  "Send an error message with TEXT."
  (assay-channel-send (list :type "error" :data (list :message (assay-valid-unicode text)))))

(defun assay-kernel--run-cell (request)
  "Queue the cell in REQUEST, a run_cell."
  (assay-schedule-add (assay-run-cell (assay-request-text request "cell_id")
                                      (assay-request-text request "code"))))

(defun assay-kernel--execute-code (request)
  "Queue the code in REQUEST, an execute_code."
  (assay-schedule-add (assay-run-code (assay-request-text request "code")
                                      (assay-request-tx request)
                                      (eq (gethash "pristine" request) t))))

(defun assay-kernel--reset (request)
  "Queue the reset in REQUEST."
  (assay-schedule-add (assay-run-reset (assay-request-tx request))))

(defun assay-kernel--stop (request)
  "Reject the queued tasks that REQUEST, a stop or dispose, is about."
  (apply #'assay-schedule-reject-waiting (assay-kernel--target request)))

(defun assay-kernel--target (request)
  "Return what REQUEST is about: (CELL TX), one of which is nil."
  (let ((cell (assay-request-text request "cell_id" 'optional)))
    (cond (cell (list cell nil))
          ((equal (assay-request-type request) "dispose_cell")
           (assay-request-fail "dispose_cell: cell_id is not a string"))
          (t (list nil (assay-request-text request "agent_tx_id"))))))

(defun assay-kernel--stopped-p ()
  "Read all requests and return whether one has stopped the running task.
Print nothing, since Emacs may be interrupted while it prints."
  (assay-channel-poll)
  (let ((body nil))
    (while (setq body (assay-channel-next))
      (setq assay-kernel--deferred-bodies (nconc assay-kernel--deferred-bodies (list body)))
      (ignore-errors (assay-kernel--note-stop (assay-request-parse body)))))
  (assay-schedule-stopped-p))

(defun assay-kernel--note-stop (request)
  "Mark the running task as stopped if REQUEST says so.
The request is handled again later, for queued tasks."
  (when (member (assay-request-type request) '("stop_cell" "dispose_cell"))
    (apply #'assay-schedule-mark-stopped (assay-kernel--target request))))

(provide 'assay-kernel)
;;; assay-kernel.el ends here
