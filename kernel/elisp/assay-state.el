;;; assay-state.el --- State of the process that a reset restores  -*- lexical-binding: t -*-

;;; Commentary:

;; Buffers, timers, processes, folder and environment last from one cell to the
;; next.  A reset restores them.  Variables and functions are in assay-names.el.

;;; Code:

(require 'assay-names)
(require 'assay-text)

(defvar assay-state--buffer nil "The current buffer at the end of the last code.")
(defvar assay-state--folder nil "The working folder at the start.")
(defvar assay-state--environment nil "`process-environment' at the start.")
(defvar assay-state--buffers nil "The buffers at the start.")
(defvar assay-state--processes nil "The processes at the start.")

(defun assay-state-record-initial ()
  "Record the present state as the one that a reset restores."
  (setq assay-state--folder default-directory
        assay-state--environment (copy-sequence process-environment)
        assay-state--buffers (buffer-list)
        assay-state--processes (process-list))
  (assay-names-record-initial))

(defun assay-state-buffer ()
  "Return the buffer to run code in.
It is the one that was current when the last code ended, or *scratch*."
  (if (buffer-live-p assay-state--buffer)
      assay-state--buffer
    (get-buffer-create "*scratch*")))

(defun assay-state-keep-buffer ()
  "Make the current buffer the one in which the next code runs."
  (setq assay-state--buffer (current-buffer)))

(defun assay-state-reset ()
  "Restore the recorded state, except what fails.
Packages stay loaded.  Return the errors as a list of strings."
  (delq nil (mapcar #'assay-state--run-step
                    '(assay-state--end-processes assay-state--kill-buffers
                      assay-names-clear assay-state--restore-surroundings))))

(defun assay-state--run-step (step)
  "Call STEP and return the text of its error, or nil."
  (condition-case condition
      (progn (funcall step) nil)
    (t (assay-describe condition))))

(defun assay-state--end-processes ()
  "End the user's timers and processes."
  (setq timer-list nil
        timer-idle-list nil)
  (dolist (process (process-list))
    (unless (memq process assay-state--processes)
      (set-process-sentinel process nil)
      (delete-process process))))

(defun assay-state--kill-buffers ()
  "Kill the user's buffers and empty *scratch*."
  (let ((kill-buffer-hook nil)
        (kill-buffer-query-functions nil))
    (dolist (buffer (buffer-list))
      (unless (memq buffer assay-state--buffers)
        (with-current-buffer buffer
          (set-buffer-modified-p nil)
          (setq-local kill-buffer-hook nil
                      kill-buffer-query-functions nil))
        (kill-buffer buffer))))
  (setq assay-state--buffer nil)
  (with-current-buffer (assay-state-buffer)
    (widen)
    (let ((inhibit-read-only t))
      (erase-buffer))))

(defun assay-state--restore-surroundings ()
  "Restore the working folder and the environment."
  (setq process-environment (copy-sequence assay-state--environment))
  (setq-default default-directory assay-state--folder)
  (with-current-buffer (assay-state-buffer)
    (setq default-directory assay-state--folder)))

(defun assay-state-threads ()
  "Return the names of the user's threads, which cannot be ended."
  (let ((names nil))
    (dolist (thread (all-threads) (nreverse names))
      (unless (eq thread main-thread)
        (push (assay-valid-unicode (or (thread-name thread) "")) names)))))

(provide 'assay-state)
;;; assay-state.el ends here
