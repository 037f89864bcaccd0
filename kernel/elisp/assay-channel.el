;;; assay-channel.el --- The socket to the server: frames in, frames out  -*- lexical-binding: t -*-

;;; Commentary:

;; A frame is the length of its body, eight bytes little-endian, and the body:
;; one JSON object, or raw text of a stream, see `assay-channel-send-text'.
;;
;; The socket is read when the kernel says so and never besides, so that what
;; the user's code waits for, and what interrupts it, cannot tear a frame.

;;; Code:

(require 'assay-print)

(defconst assay-channel--limit (ash 64 20) "Bytes of a body.")
(defconst assay-channel--day 86400 "Seconds to wait at a time.")
(defconst assay-channel--moment 0.05 "Seconds to wait where somebody else may read.")
(defconst assay-channel--header 8 "Bytes of a frame before its body.")

(defvar assay-channel--process nil "The connection.")
(defvar assay-channel--closed nil "Whether nothing can be sent any more.")
(defvar assay-channel--input "" "Bytes that have arrived.")
(defvar assay-channel--start 0 "Where in the input the next frame begins.")
(defvar assay-channel--chunks nil "Bytes that have arrived behind the input, newest first.")
(defvar assay-channel--size 0 "Bytes in the chunks.")

(defun assay-channel-open (path)
  "Connect to the socket at PATH.  Emacs ends when the server closes it."
  (setq read-process-output-max (ash 1 18)
        assay-channel--process
        (make-network-process
         :name "assay" :family 'local :service path :coding 'binary :noquery t
         :filter t :sentinel #'assay-channel--ended)))

(defun assay-channel--ended (process _event)
  "End Emacs, unless PROCESS lives."
  (unless (process-live-p process)
    (setq assay-channel--closed t)
    (kill-emacs 0)))

(defun assay-channel--take (_process chunk)
  "Put CHUNK with the others, to be joined when a frame is whole."
  (push chunk assay-channel--chunks)
  (setq assay-channel--size (+ assay-channel--size (length chunk))))

(defmacro assay-channel--listening (&rest body)
  "Evaluate BODY, during which the socket is read."
  `(unwind-protect
       (progn (set-process-filter assay-channel--process #'assay-channel--take)
              ,@body)
     (set-process-filter assay-channel--process t)))

(defun assay-channel-wait ()
  "Wait until something may have arrived; timers and other processes run meanwhile.
Where they wait themselves they take in what arrives, of which Emacs does not
tell: while there are any the wait is short.  An end it must always have, or
Emacs complains, because quitting is inhibited."
  (assay-channel--listening
   (accept-process-output
    assay-channel--process
    (if (or timer-list timer-idle-list (cdr (process-list)) (cdr (all-threads)))
        assay-channel--moment
      assay-channel--day))))

(defun assay-channel-poll ()
  "Read what has arrived; nothing of the user's runs meanwhile."
  (assay-channel--listening
   (while (accept-process-output assay-channel--process 0 nil 0))))

(defun assay-channel-next ()
  "Return the body of the next frame as bytes, nil where none is whole yet."
  (when (assay-channel--have assay-channel--header)
    (let ((length (assay-channel--length)))
      (unless (<= 1 length assay-channel--limit)
        (assay-channel--break length))
      (when (assay-channel--have (+ assay-channel--header length))
        (let* ((start (+ assay-channel--start assay-channel--header))
               (end (+ start length)))
          (setq assay-channel--start end)
          (substring assay-channel--input start end))))))

(defun assay-channel--have (count)
  "Whether COUNT bytes have arrived; the input then has them."
  (let ((ready (- (length assay-channel--input) assay-channel--start)))
    (when (and (< ready count) (<= count (+ ready assay-channel--size)))
      (setq assay-channel--input
            (apply #'concat (substring assay-channel--input assay-channel--start)
                   (nreverse assay-channel--chunks))
            assay-channel--start 0
            assay-channel--chunks nil
            ready (+ ready assay-channel--size)
            assay-channel--size 0))
    (<= count ready)))

(defun assay-channel--length ()
  "Return the length that the next header has, signed."
  (let ((length 0))
    (dotimes (i assay-channel--header)
      (setq length (logior length (ash (aref assay-channel--input (+ assay-channel--start i))
                                       (* 8 i)))))
    (if (< length (ash 1 63)) length (- length (ash 1 64)))))

(defun assay-channel--break (length)
  "End Emacs because of a header that announces LENGTH."
  (princ (format "kernel: frame length %d, not between 1 and %d\n" length assay-channel--limit)
         #'external-debugging-output)
  (kill-emacs 1))

(defun assay-channel-send (message)
  "Send MESSAGE, a plist or hash table as `json-serialize' takes it."
  (assay-channel--write (encode-coding-string (json-serialize message) 'utf-8-unix)))

(defun assay-channel-answer (tx &rest message)
  "Send MESSAGE, a plist, as the answer to the request with the id TX, or nil."
  (assay-channel-send (if tx (append message (list :agent_tx_id tx)) message)))

(defun assay-channel-send-text (cell text)
  "Send TEXT, a string, as stdout of CELL, an id in UTF-8; empty: of none."
  (assay-channel--write
   (concat (unibyte-string 0 1 (logand (length cell) 255) (ash (length cell) -8))
           cell (encode-coding-string (assay-sound text) 'utf-8-unix))))

(defun assay-channel--write (body)
  "Send BODY, bytes, in a frame.
Where that is interrupted Emacs keeps what is left and sends it before the next."
  (unless assay-channel--closed
    (condition-case nil
        (process-send-string
         assay-channel--process (concat (assay-channel--bytes (length body)) body))
      (error (assay-channel--ended assay-channel--process nil)))))

(defun assay-channel--bytes (length)
  "Return LENGTH as the header of a frame."
  (apply #'unibyte-string
         (mapcar (lambda (i) (logand (ash length (* -8 i)) 255)) '(0 1 2 3 4 5 6 7))))

(provide 'assay-channel)
;;; assay-channel.el ends here
