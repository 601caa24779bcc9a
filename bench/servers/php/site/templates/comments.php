<ul>
<?php foreach ($replies[$parent] ?? [] as $comment): ?>
<li><b><?= $e($comment->author) ?></b> <?= $e($comment->text) ?>
<?php if (isset($replies[$comment->id])): ?>
<?= Template::fill('comments', ['replies' => $replies, 'parent' => $comment->id]) ?>
<?php endif ?>
</li>
<?php endforeach ?>
</ul>
