"""transformers, accelerate: Trainer with accumulation, clipping, a schedule, checkpoints and an evaluation."""

import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PrinterCallback, Trainer, TrainingArguments, set_seed

set_seed(0)
sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
names = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
model = LlamaForCausalLM(
    LlamaConfig(vocab_size=50, num_key_value_heads=2, max_position_embeddings=64, **sizes, **names)
)
data = [{"input_ids": each, "labels": each} for each in torch.randint(3, 50, (64, 12))]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        per_device_train_batch_size=8,
        gradient_accumulation_steps=2,
        num_train_epochs=2,
        learning_rate=1e-2,
        max_grad_norm=1.0,
        lr_scheduler_type="cosine",
        warmup_steps=2,
        logging_steps=2,
        save_steps=4,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        dataloader_pin_memory=False,
    )

    def made(model: LlamaForCausalLM) -> Trainer:
        trainer = Trainer(model=model, args=arguments, train_dataset=data, eval_dataset=data[:8])
        trainer.remove_callback(PrinterCallback)  # it prints how long things take
        return trainer

    trainer, resumed = made(model), made(LlamaForCausalLM(model.config))
    result = trainer.train()
    history = trainer.state.log_history
    again = resumed.train(resume_from_checkpoint=f"{folder}/checkpoint-4")

print("steps", result.global_step, again.global_step)
for each in history:
    if "loss" in each:
        print(each["step"], *(f"{each[name]:.4f}" for name in ("loss", "grad_norm", "learning_rate")))
weights = [trainer.model.state_dict(), resumed.model.state_dict()]
print("resumed to the same weights", all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0]))
print("evaluation", f"{resumed.evaluate()['eval_loss']:.4f}")
