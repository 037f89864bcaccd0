;;; assay-kernel.el --- Runs notebook cells for the server at a socket  -*- lexical-binding: t -*-

;; Package-Requires: ((emacs "28.1"))

;;; Commentary:

;; "emacs -Q --batch -L FOLDER -l assay-kernel -f assay-kernel-serve SOCKET" starts it.
;;
;; Here is the loop: requests are read, what can be answered at once is, what
;; runs code is scheduled, and then runs.  While it does nothing is answered:
;; Emacs has one thread.  What comes meanwhile is only looked through for a stop
;; of what runs, and only when the server has signalled, see assay-guard.el.
;;
;; Then, from the outside in: assay-run.el runs, assay-eval.el evaluates,
;; assay-text.el takes what is printed, assay-channel.el sends.

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
  "Type of a request to the function that handles it.")

(defvar assay-kernel--bodies nil "Bodies of requests that came while code ran, in order.")

(defun assay-kernel-serve ()
  "Serve at the socket that the last argument of the command line names.
It returns never: Emacs ends when the server closes the socket."
  (assay-guard-install)
  (assay-batch-install)
  (assay-channel-open (pop command-line-args-left))
  (assay-text-install)
  (setq assay-guard-stopped-function #'assay-kernel--stopped-p)
  (assay-channel-send
   (list :type "ready" :language "elisp" :version emacs-version :pid (emacs-pid)
         :protocol 1 :actions t :lacks ["reactivity" "widgets" "rich_outputs"]))
  (assay-state-settle)
  (while t
    (assay-kernel--background #'assay-kernel--step)))

(defun assay-kernel--step ()
  "Handle what has arrived, then run what is next, or wait where nothing is."
  (assay-channel-poll)
  (assay-kernel--handle-all)
  (unless (assay-schedule-run-next)
    (assay-channel-wait)))

(defun assay-kernel--background (step)
  "Call STEP, during which timers and filters of the user's may run and fail."
  (let ((outcome (assay-guard-catch step)))
    (unless (car outcome)
      (assay-text-add (concat (assay-describe (cdr outcome)) "\n")))))

(defun assay-kernel--handle-all ()
  "Handle the requests that have arrived."
  (let ((body nil))
    (while (setq body (or (pop assay-kernel--bodies) (assay-channel-next)))
      (assay-kernel--handle body))))

(defun assay-kernel--handle (body)
  "Answer or schedule the request BODY, or say why it cannot be followed."
  (condition-case condition
      (let* ((request (assay-request-read body))
             (type (assay-request-type request))
             (handler (cdr (assoc type assay-kernel--handlers))))
        (unless handler
          (assay-request-refuse "unknown message type '%s'" type))
        (funcall handler request))
    (assay-request-malformed (assay-kernel--refuse (cadr condition)))
    (error (assay-kernel--refuse (concat "a message could not be handled: "
                                         (assay-describe condition))))))

(defun assay-kernel--refuse (text)
  "Tell the server that a message was not followed, for the reason TEXT."
  (assay-channel-send (list :type "error" :data (list :message (assay-sound text)))))

(defun assay-kernel--run-cell (request)
  "Schedule the run of a cell that is REQUEST."
  (assay-schedule-add (assay-run-cell (assay-request-text request "cell_id")
                                      (assay-request-text request "code"))))

(defun assay-kernel--execute-code (request)
  "Schedule the execute_code REQUEST; it runs alone, whatever its session."
  (assay-schedule-add (assay-run-code (assay-request-text request "code")
                                      (assay-request-tx request)
                                      (eq (gethash "pristine" request) t))))

(defun assay-kernel--reset (request)
  "Schedule the reset that is REQUEST."
  (assay-schedule-add (assay-run-reset (assay-request-tx request))))

(defun assay-kernel--stop (request)
  "Refuse what waits and is the target of REQUEST."
  (apply #'assay-schedule-stop (assay-kernel--target request)))

(defun assay-kernel--target (request)
  "Return what REQUEST is to stop: (CELL TX), one of them nil."
  (let ((cell (assay-request-text request "cell_id" 'optional)))
    (cond (cell (list cell nil))
          ((equal (assay-request-type request) "dispose_cell")
           (assay-request-refuse "dispose_cell: cell_id is not a string"))
          (t (list nil (assay-request-text request "agent_tx_id"))))))

(defun assay-kernel--stopped-p ()
  "Read what has arrived, and tell whether what runs was stopped.
It prints nothing: Emacs may be in the middle of that."
  (assay-channel-poll)
  (let ((body nil))
    (while (setq body (assay-channel-next))
      (setq assay-kernel--bodies (nconc assay-kernel--bodies (list body)))
      (ignore-errors (assay-kernel--look-for-stop (assay-request-parse body)))))
  (assay-schedule-stopped-p))

(defun assay-kernel--look-for-stop (request)
  "Note that what runs was stopped, if REQUEST says so.
It is handled later besides, for what waits."
  (when (member (assay-request-type request) '("stop_cell" "dispose_cell"))
    (apply #'assay-schedule-stop-running (assay-kernel--target request))))

(provide 'assay-kernel)
;;; assay-kernel.el ends here
